/* damage.h  reading a log some of whose records are damaged: what stands before the damage is given, and where it is told. */
#ifndef VIEW_DAMAGE_H
#define VIEW_DAMAGE_H
#include "soa/journal.h"

typedef struct view_damage {
    int found;
    int at_end;     /* what follows is no record: damaged, or not finished by its writer */
    long long byte; /* where, -1: not known            */
    int64_t good;   /* samples of the log before it    */
    double last;    /* time of the last one of those   */
} view_damage;

/* As soa_log_find_sample, soa_log_read_samples (t is needed) and soa_log_overview, but damage after at least one good sample is no failure.
 * damage may be NULL; it is written only where some is found.  The overview of a damaged log reads sample by sample. */
soa_status view_damage_find(soa_log *log, double t0, double t1, int64_t *first, int64_t *after, soa_report *report);
soa_status view_damage_read(soa_log *log, int64_t first, int64_t count, const int *signals, int signal_count, double *t,
                            double *values, int64_t *got, view_damage *damage, soa_report *report);
soa_status view_damage_overview(soa_log *log, const int *signals, int signal_count, double t0, double t1, int columns,
                                double *low, double *high, view_damage *damage, soa_report *report);
/* Bytes after the last good record of an opened log, told as damage; nothing else that was found before is changed. */
void view_damage_of_end(const soa_log *log, view_damage *damage);
/* "damaged at byte 4711: nothing is shown after t = 1.5 s" */
void view_damage_text(const view_damage *damage, char text[160]);
#endif
