/* stock_scenario.c  the shipped scenarios by name. */
#include "../base/base_internal.h"
#include "../base/nearest.h"
#include "scenario_text.h"
#include "soa/scenario.h"

#include <stdio.h>

enum { NAME = 64 };

/* "grapple.yaml" is called grapple. */
const char *soa_stock_scenario_name(int index) {
    static _Thread_local char name[NAME];
    for (int i = 0; i <= index; ++i)
        if (!soai_scenario_text[i].name || index < 0) return NULL;
    snprintf(name, sizeof name, "%s", soai_scenario_text[index].name);
    char *dot = strrchr(name, '.');
    if (dot) *dot = 0;
    return name;
}

const char *soa_stock_scenario_text(const char *name) {
    for (int i = 0; name && soai_scenario_text[i].name; ++i) { /* without a copy: `name` may be the one given above */
        const char *file = soai_scenario_text[i].name, *dot = strrchr(file, '.');
        const size_t n = dot ? (size_t)(dot - file) : strlen(file);
        if (strlen(name) == n && !strncmp(file, name, n)) return soai_scenario_text[i].text;
    }
    return NULL;
}

soa_status soa_scenario_open(const char *spec, soa_scenario *scenario, soa_report *report) {
    if (!spec || !scenario) return SOA_E_ARGUMENT;
    FILE *file = fopen(spec, "r");
    if (file) {
        fclose(file);
        return soa_scenario_read(spec, scenario, report);
    }
    const char *text = soa_stock_scenario_text(spec), *other;
    if (text) return soa_scenario_parse(text, strlen(text), spec, scenario, report);
    if (strchr(spec, '/') || strchr(spec, '.')) return soa_scenario_read(spec, scenario, report); /* says why not */
    enum { MOST = 32 };
    char hint[SOAI_HINT], names[MOST][NAME];
    soai_nearest search = soai_nearest_to(spec);
    for (int i = 0; i < MOST && (other = soa_stock_scenario_name(i)); ++i) {
        snprintf(names[i], sizeof names[i], "%s", other);
        soai_nearest_try(&search, names[i]);
    }
    return soai_report(report, SOA_E_FILE, -1, 0, "'%.100s' is neither a file nor a shipped scenario%s", spec,
                       soai_nearest_hint(&search, hint));
}
