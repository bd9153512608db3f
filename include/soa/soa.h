/* soa/soa.h  all headers of libsoa, the spatial operator algebra for machines of rigid bodies and
 *            joints; not those of libsoa-io and libsoa-sim. */
#ifndef SOA_SOA_H
#define SOA_SOA_H
#include "soa/base.h"
#include "soa/collision.h"
#include "soa/constraint.h"
#include "soa/control.h"
#include "soa/dynamics.h"
#include "soa/embedding.h"
#include "soa/forms.h"
#include "soa/graph.h"
#include "soa/grasp.h"
#include "soa/model.h"
#include "soa/operator.h"
#include "soa/spatial.h"
#include "soa/taylor.h"
#endif
