/* damage.h  reads a log that contains damaged records: returns what comes before the damage, and
 * where the damage is. */
#ifndef VIEW_DAMAGE_H
#define VIEW_DAMAGE_H
#include "soa/journal.h"

typedef struct view_damage {
    int found;
    /* The last bytes are not a record: damaged, or not finished by the writer. */
    int at_end;
    long long byte; /* position; -1: not known */
    int64_t good;   /* number of samples before it */
    double last;    /* time of the last of these samples */
} view_damage;

/* Like soa_log_find_sample, soa_log_read_samples (t must be given) and soa_log_overview, but damage
 * after at least one good sample is not a failure. damage may be NULL; it is set only if damage is
 * found. The overview of a damaged log reads sample by sample. */
soa_status view_damage_find(soa_log *log, double t0, double t1, int64_t *first, int64_t *after,
                            soa_report *report);
soa_status view_damage_read(soa_log *log, int64_t first, int64_t count, const int *signals,
                            int signal_count, double *t, double *values, int64_t *got,
                            view_damage *damage, soa_report *report);
soa_status view_damage_overview(soa_log *log, const int *signals, int signal_count, double t0,
                                double t1, int columns, double *low, double *high,
                                view_damage *damage, soa_report *report);
/* Reports bytes after the last good record of an opened log as damage. Damage found before is not
 * changed. */
void view_damage_of_end(const soa_log *log, view_damage *damage);
/* Text such as "damaged at byte 4711: nothing is shown after t = 1.5 s". */
void view_damage_text(const view_damage *damage, char text[160]);
#endif
