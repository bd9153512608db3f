/* soa/control.h  control laws, paths and the supervisor that switches them: the same code in simulation and on a robot.
 *
 * Plain functions of a model (the controller's estimate of the machine), a work space and measured (q, v); they write
 * torques, never allocate, and clamp nothing unless told.                                                             */
#ifndef SOA_CONTROL_H
#define SOA_CONTROL_H

#include "soa/grasp.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif
#endif
