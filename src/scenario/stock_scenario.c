/* stock_scenario.c  finds shipped scenarios by name. */
#include "../base/base_internal.h"
#include "../base/nearest.h"
#include "scenario_text.h"
#include "soa/scenario.h"

#include <stdio.h>

const char *soa_stock_scenario_name(int index) {
    for (int i = 0; i <= index; ++i)
        if (!soai_scenario_text[i].name) return NULL;
    return index < 0 ? NULL : soai_scenario_text[index].name;
}

const char *soa_stock_scenario_text(const char *name) {
    for (const soai_text *t = soai_scenario_text; name && t->name; ++t)
        if (!strcmp(t->name, name)) return t->text;
    return NULL;
}

soa_status soa_scenario_open(const char *spec, soa_scenario *scenario, soa_report *report) {
    soai_report_reset(report);
    if (!spec || !scenario) return soai_report_end(report, SOA_E_ARGUMENT);
    FILE *file = fopen(spec, "r");
    if (file) {
        fclose(file);
        return soai_report_end(report, soa_scenario_read(spec, scenario, report));
    }
    const char *text = soa_stock_scenario_text(spec), *other;
    if (text)
        return soai_report_end(report,
                               soa_scenario_parse(text, strlen(text), spec, scenario, report));
    /* This fails and reports why the file cannot be read. */
    if (strchr(spec, '/') || strchr(spec, '.'))
        return soai_report_end(report, soa_scenario_read(spec, scenario, report));
    char hint[SOAI_HINT];
    soai_nearest search = soai_nearest_to(spec);
    for (int i = 0; (other = soa_stock_scenario_name(i)); ++i)
        soai_nearest_try(&search, other);
    return soai_report(report, SOA_E_FILE, -1, 0,
                       "'%.100s' is neither a file nor a shipped scenario%s", spec,
                       soai_nearest_hint(&search, hint));
}
