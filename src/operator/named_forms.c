/* named_forms.c  the papers' algorithms by name, each as an expression. */
#include "expr.h"

static const struct {
    const char *name, *text, *what;
} forms[] = {
    {"FD1", "(I - H Psi L)' inv(D) (I - H Psi L) (T - H phi (M phi' a + b + B f0))",
     "forward dynamics, RK88-I (4.17), (4.18)"},
    {"FD2", "psi' H' inv(D) (I - H Psi L) (T - H phi (M phi' a + b + B f0)) + phi' a",
     "link accelerations less gravity, RK88-I (5.5), (5.6)"},
    {"FD2_tip", "B' (psi' H' inv(D) (I - H Psi L) (T - H phi (M phi' a + b + B f0)) + phi' a)",
     "tip accelerations less gravity, RK88-I (5.7)"},
    {"FD3", "(I - H Psi L)' inv(D) (T - H psi (S L T + M phi' a + b + B f0))",
     "forward dynamics, RK88-I (5.8) to (5.10)"},
    {"FD3_link", "psi' H' inv(D) (T - H psi (S L T + M phi' a + b + B f0)) + phi' a",
     "link accelerations less gravity, FD3 extended as FD2"},
    {"FD4",
     "(I - H Psi L)' (inv(D) (I - H Psi L) T - inv(D) H psit P a - inv(D) H psi (b + B f0)) - L' "
     "Psi' (I - G H)' a - "
     "G' a",
     "forward dynamics, RK88-I (5.14), (5.15)"},
    {"ID", "H phi (M phi' (H' thdd + a) + b + B f0) + Jr thdd", "inverse dynamics, RK88-I (3.19)"},
    {"due_to_torque", "(I - H Psi L)' inv(D) (I - H Psi L) T",
     "acceleration due to joint moments, R87 (70)"},
    {"due_to_force", "-(I - H Psi L)' inv(D) H psi b", "acceleration due to bias forces, R87 (70)"},
    {"due_to_acceleration", "-(I - H Psi L)' inv(D) H psi M phi' a",
     "acceleration due to bias accelerations, R87 (70)"},
    {"due_to_tip", "-(I - H psi K)' inv(D) H psi B f0", "tip-force correction, RJK91 (18)"},
    {"innovations", "(I - H psi K) (T - H phi (M phi' a + b + B f0))",
     "innovations of FD1, RK88-I (4.20)"},
    {"filter", "Psi L T + psit P a + psi (b + B f0)", "filtered state z of FD4, RK88-I (5.16)"},
    {"compliance", "B' psi' H' inv(D) H psi B f0", "Omega(0) f0, RJK91 (20)"},
    {"task_force", "inv(J inv(Mass) J') f0",
     "operational-space inertia times f0, here a tip acceleration, RJK91 (19)"},
};
enum { FORMS = sizeof forms / sizeof *forms };

const char *soa_expr_form_name(int index, const char **text, const char **what) {
    if (index < 0 || index >= FORMS) return NULL;
    if (text) *text = forms[index].text;
    if (what) *what = forms[index].what;
    return forms[index].name;
}
soa_status soa_expr_from_form(const char *name, const soa_expr **expr) {
    for (int i = 0; name && expr && i < FORMS; ++i)
        if (!strcmp(name, forms[i].name))
            return soa_expr_parse(forms[i].text, NULL, 0, expr, NULL, 0);
    return SOA_E_NAME;
}
