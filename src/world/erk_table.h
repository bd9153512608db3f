/* erk_table.h  the explicit Runge-Kutta pair of each order offered. */
#ifndef SOAI_ERK_TABLE_H
#define SOAI_ERK_TABLE_H
#include <stdio.h> /* the next one needs FILE */

#include <arkode/arkode_butcher_erk.h>

static inline ARKODE_ERKTableID soai_erk_table(int order) {
    switch (order) {
    case 2: return ARKODE_HEUN_EULER_2_1_2;
    case 3: return ARKODE_BOGACKI_SHAMPINE_4_2_3;
    case 4: return ARKODE_ZONNEVELD_5_3_4;
    case 5: return ARKODE_DORMAND_PRINCE_7_4_5;
    case 6: return ARKODE_VERNER_8_5_6;
    case 8: return ARKODE_FEHLBERG_13_7_8;
    default: return ARKODE_ERK_NONE;
    }
}

#endif
