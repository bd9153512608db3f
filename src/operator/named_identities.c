/* named_identities.c  the papers' identities by name. soa_expr_prove proves every one;
 * tests/operator tries them on machines. Left out of RK88-I's appendix: (a.4) and (a.5), which say what Delta_phi and Delta_psi
 * consist of, and the sums and recursions over links in the proofs, (a.19) to (a.21), (a.29) to
 * (a.31) and (a.44), whose operator forms are here. */
#include "expr.h"
#include <ctype.h>

static const struct {
    const char *name, *text;
} identities[] = {
    /* RK88-I, appendix A */
    {"RK88-I (a.1)", "D = H P H'"},
    {"RK88-I (a.2)", "G = P H' inv(D)"},
    {"RK88-I (a.3)", "phit = phi - I"},
    {"RK88-I (a.5)", "Delta_psi = Delta_phi (I - G H)"},
    {"RK88-I (a.6)", "Phi = phi S"},
    {"RK88-I (a.7)", "Psi = psi S"},
    {"RK88-I (a.8)", "Psi Delta_psi = psit"},
    {"RK88-I (a.9)", "Phi Delta_phi = phit"},
    {"RK88-I (a.10)", "inv(psi) = I - S Delta_psi"},
    {"RK88-I (a.11)", "inv(phi) = I - S Delta_phi"},
    {"RK88-I (a.12)", "L = Delta_phi G"},
    {"RK88-I (a.13)", "phit G = Phi L"},
    {"RK88-I (a.14)", "phi = psi (I + S L H phi)"},
    {"RK88-I (a.15)", "psi = (I - Psi L H) phi"},
    {"RK88-I (a.16)", "Phi = Psi (I + L H Phi)"},
    {"RK88-I (a.17)", "Psi = (I - Psi L H) Phi"},
    {"RK88-I (a.18)", "phi - psi = psi S L H phi"},
    {"RK88-I (a.22)", "phi = (I + Phi L H) psi"},
    {"RK88-I (a.23)", "psi = phi (I - S L H psi)"},
    {"RK88-I (a.24)", "Phi = (I + Phi L H) Psi"},
    {"RK88-I (a.25)", "Psi = Phi (I - L H Psi)"},
    {"RK88-I (a.26)", "Phi L H psi = Psi L H phi"},
    {"RK88-I (a.27)", "Phi L H Psi = Psi L H Phi"},
    {"RK88-I (a.28)", "phi - psi = phi S L H psi"},
    {"RK88-I (a.32)", "H phi = (I + H Phi L) H psi"},
    {"RK88-I (a.33)", "H Phi = (I + H Phi L) H Psi"},
    {"RK88-I (a.34)", "H Psi = H Phi (I - L H Psi)"},
    {"RK88-I (a.35)", "H psi = (I - H Psi L) H phi"},
    {"RK88-I (a.36)", "H Psi = (I - H Psi L) H Phi"},
    {"RK88-I (a.37)", "H Phi = H Psi (I + L H Phi)"},
    {"RK88-I (a.38)", "H Phi L H Psi = H Psi L H Phi"},
    {"RK88-I (a.39)", "Phi L = Psi L (I + H Phi L)"},
    {"RK88-I (a.40)", "Psi L = (I - Psi L H) Phi L"},
    {"RK88-I (a.41)", "Psi L = Phi L (I - H Psi L)"},
    {"RK88-I (a.42)", "Phi L = (I + Phi L H) Psi L"},
    {"RK88-I (a.43)", "Psi L H Phi L = Phi L H Psi L"},
    {"RK88-I (a.44) with r = P", "P = E_psi P E_phi' + M"},
    {"RK88-I (a.46), lemma A.1 with r = P", "psi M phi' = P + psit P + P phit'"},
    {"RK88-I (a.47), corollary A.1", "psi M psi' = P + psit P + P psit'"},
    {"RK88-I lemma A.1, (a.45), any r",
     "r: link>link; psi (r - E_psi r E_phi') phi' = r + psit r + r phit'"},
    {"RK88-I corollary A.1, any r",
     "r: link>link; phi (r - E_phi r E_phi') phi' = r + phit r + r phit'"},
    {"RK88-I lemma A.1 with psi = phi, corollary A.1: r = Mc",
     "phi M phi' = Mc + phit Mc + Mc phit'"},
    {"RK88-I (a.48), identity A.6",
     "phi M phi' = P + phit P + P phit' + phit P H' inv(D) H P phit'"},
    {"RK88-I (a.49)", "P = E_phi (P - P H' inv(D) H P) E_phi' + M"},
    {"RK88-I (a.50), identity A.7",
     "(I - H Psi L)' inv(D) H psi M phi' = (I - H Psi L)' inv(D) H psit P + L' Psi' (I - G H)' + "
     "G'"},
    {"RK88-I (a.50), with P H' = G D",
     "(I - H psi K)' inv(D) H psi M phi' = (I - H psi K)' inv(D) H psi P + K' psi'"},
    {"RK88-I (a.51)",
     "(I - H Psi L)' inv(D) H P + (I - H Psi L)' inv(D) H P phit' = L' Psi' (I - G H)' + G'"},
    {"RK88-I proof of fact 4.1", "H phi M phi' H' = (I + H phit G) D (I + H phit G)'"},
    /* RK88-I, sections 3 to 5 */
    {"RK88-I (4.11), fact 4.1", "Mass = (I + H Phi L) D (I + H Phi L)'"},
    {"RK88-I (4.14), fact 4.2", "inv(I + H Phi L) = I - H Psi L"},
    {"RK88-I (4.16)", "inv(Mass) = (I - H Psi L)' inv(D) (I - H Psi L)"},
    {"RK88-I (4.17), FD1", "inv(Mass) (T - H phi (M phi' a + b + B f0)) = FD1"},
    {"RK88-I (4.20), innovations", "FD1 = (I - H psi K)' inv(D) innovations"},
    {"RK88-I (5.4)", "(I - H Psi L) H phi = H psi"},
    {"RK88-I (5.5), FD2", "FD2 = phi' (H' FD1 + a)"},
    {"RK88-I (5.7), FD2_tip", "FD2_tip = J FD1 + B' phi' a"},
    {"RK88-I (5.8) to (5.10), FD3", "FD1 = FD3"},
    {"FD3 extended as FD2", "FD2 = FD3_link"},
    {"RK88-I (5.14), FD4", "FD1 = FD4"},
    {"RK88-I (5.16), (5.17), FD4",
     "FD4 = (I - H psi K)' inv(D) (T - H filter) - K' psi' (I - G H)' a - G' a"},
    {"FD4 in three recursions",
     "FD4 = (I - H psi K)' inv(D) (T - H psi (K T + P a + b + B f0)) - K' psi' a"},
    /* RJK91 */
    {"RJK91 (1)", "J = B' phi' H'"},
    {"RJK91 (3)", "Mass = H phi M phi' H'"},
    {"RJK91 (8)", "P = E_psi P E_psi' + M"},
    {"RJK91 (10)", "E_psi = E_phi (I - G H)"},
    {"RJK91 (10), its second form", "E_psi = E_phi - K H"},
    {"RJK91 lemma 1, (11)", "Mass = (I + H phi K) D (I + H phi K)'"},
    {"RJK91 lemma 1, its proof", "M = P - E_phi P E_phi' + K D K'"},
    {"RJK91 lemma 1, its proof: the projection", "(I - G H) P (I - G H)' = (I - G H) P"},
    {"RJK91 lemma 1, its proof: phi~", "phit = phi E_phi"},
    {"RJK91 lemma 1, its proof: phi M phi'", "phi M phi' = P + phit P + P phit' + phi K D K' phi'"},
    {"RJK91 lemma 2, (12)", "inv(I + H phi K) = I - H psi K"},
    {"RJK91 lemma 2, its proof", "inv(I + K H phi) = inv(phi) psi"},
    {"RJK91 lemma 3, (13)", "inv(Mass) = (I - H psi K)' inv(D) (I - H psi K)"},
    {"RJK91 (14), (15)",
     "FD1 = (I - H psi K)' inv(D) (I - H psi K) (T - H phi (M phi' a + b + B f0))"},
    {"RJK91 lemma 4, (16)", "(I - H psi K) H phi = H psi"},
    {"RJK91 lemma 4, its proof", "I - psi K H = psi inv(phi)"},
    {"RJK91 lemma 5", "inv(psi) = inv(phi) + K H"},
    {"RJK91 (17)", "inv(Mass) J' f0 = (I - H psi K)' inv(D) (I - H psi K) H phi B f0"},
    {"RJK91 (18)", "inv(Mass) J' = (I - H psi K)' inv(D) H psi B"},
    {"RJK91 (18), the form", "due_to_tip = -inv(Mass) J' f0"},
    {"RJK91 (19)", "J inv(Mass) J' = B' phi' H' (I - H psi K)' inv(D) (I - H psi K) H phi B"},
    {"RJK91 (20)", "J inv(Mass) J' = B' psi' H' inv(D) H psi B"},
    {"RJK91 (20), the form", "compliance = J inv(Mass) J' f0"},
    {"RJK91 section 6, the diagonalised inertia",
     "inv(sqrt(D)) (I - H psi K) Mass (I - H psi K)' inv(sqrt(D))' = I"},
    {"RJK91 section 6, nu and the kinetic energy",
     "Mass = (sqrt(D)' (I + H phi K)')' sqrt(D)' (I + H phi K)'"},
    {"RJK91 section 6, epsilon",
     "sqrt(D)' (I + H phi K)' inv(Mass) T = inv(sqrt(D)) (I - H psi K) T"},
    /* R87 */
    {"R87 (37), (43)", "P = E_phi Pplus E_phi' + M"},
    {"R87 (43), its adjoint", "Pplus = P (I - G H)'"},
    {"R87 (32)", "M = Mc - E_phi Mc E_phi'"},
    {"R87 (32), the mass matrix", "Mass = H Mc H' + H phit Mc H' + H Mc phit' H'"},
    {"R87 (32) and RJK91 (11)", "H (Mc + phit Mc + Mc phit') H' = (I + H phi K) D (I + H phi K)'"},
    {"R87 (39)", "G D = P H'"},
    {"R87 (43)", "(I - G H) P = P - G D G'"},
    {"R87 (43): H P+ = 0", "H G H P = H P"},
    {"R87 (69), (70)", "FD1 = due_to_torque + due_to_force + due_to_acceleration + due_to_tip"},
    {"R87 (74)", "inv(D) (I - H psi K) T = inv(D) (T - H psi E_phi G T)"},
    {"R87 (75), (76)",
     "due_to_torque = inv(D) (I - H psi K) T - G' E_phi' psi' H' inv(D) (I - H psi K) T"},
    {"R87 (83), the four parts",
     "inv(Mass) = inv(D) - inv(D) H psi K - K' psi' H' inv(D) + K' psi' H' inv(D) H psi K"},
    {"K and L", "K = S L"},
    {"the gain", "H G = I"},
    /* FO00, section 3.5; its H is H', its P is Inc */
    {"FO00 3.5", "Inc = inv(phi')"},
    {"FO00 (24)", "alpha = inv(Inc) H' thdd + inv(Inc) a"},
    {"FO00 (25): S' f_c = 0", "H phi (M FD2 + b + B f0) = T"},
    {"FO00 (26)", "H inv(Inc)' M inv(Inc) H' FD1 = T - H inv(Inc)' (M inv(Inc) a + b + B f0)"},
    {"FO00 (29)", "Inc alpha = H' thdd + a"},
    {"FO00 3.5, the mass matrix", "Mass = H inv(Inc)' M inv(Inc) H'"},
    /* RK88-II, section 6; iOm is the inverse of Omega, ap is a'(C), f0 is f(0), T is T' */
    {"RK88-II (6.3)", "due_to_tip = -(I - H psi K)' inv(D) H psi B f0"},
    {"RK88-II (6.7)", "J inv(Mass) J' = B' psi' H' inv(D) H psi B"},
    {"RK88-II (6.12)", "J inv(Mass) = B' psi' H' inv(D) (I - H psi K)"},
    {"RK88-II (6.13)", "iOm: tip>tip, ap: tip; iOm (J inv(Mass) T - ap) = iOm (B' psi' H' inv(D) "
                       "(I - H psi K) T - ap)"},
    {"RK88-II (6.15)", "inv(Mass) T = (I - H psi K)' inv(D) (T - H psi S L T)"},
    {"RK88-II (6.16)", "inv(Mass) J' f0 = (I - H psi K)' inv(D) H psi B f0"},
    {"RK88-II (6.17)", "inv(Mass) (T - J' f0) = (I - H psi K)' inv(D) (T - H psi (S L T + B f0))"},
    {"RK88-II (6.20)",
     "iOm: tip>tip, ap: tip; inv(Mass) J' iOm ap = (I - H psi K)' inv(D) H psi B iOm ap"},
    {"RK88-II (6.21)", "iOm: tip>tip; (inv(Mass) - inv(Mass) J' iOm J inv(Mass)) T = (I - H psi "
                       "K)' (inv(D) - inv(D) H psi B iOm "
                       "B' psi' H' inv(D)) (I - H psi K) T"},
    {"RK88-II, five sweeps",
     "inv(Mass) (T - H phi (M phi' a + b) - J' f0) = (I - H psi K)' inv(D) (T - H psi (K T + M "
     "phi' a + b) - H psi B f0)"},
    {"RK88-II, without phi' a",
     "inv(Mass) (T - H phi (M phi' a + b) - J' f0) = (I - H psi K)' inv(D) (T - H psi (K T + P a "
     "+ b) - H psi B f0) - K' psi' a"},
    {"task-space inertia", "inv(J inv(Mass) J') J inv(Mass) J' = I"},
};
enum { IDENTITIES = sizeof identities / sizeof *identities };

const char *soa_expr_identity_name(int index, const char **text) {
    if (index < 0 || index >= IDENTITIES) return NULL;
    if (text) *text = identities[index].text;
    return identities[index].name;
}

/* Is the word of n bytes in the text, ended on both sides by something else than letters and
 * digits (or beginning and ending so itself)? */
static int joins(char a, char b) {
    return isalnum((unsigned char)a) && isalnum((unsigned char)b);
}
static int holds_word(const char *text, const char *word, size_t n) {
    for (const char *at = text; *at; ++at) {
        if (strncmp(at, word, n) != 0) continue;
        if ((at == text || !joins(at[-1], word[0])) && !joins(at[n], word[n - 1])) return 1;
    }
    return 0;
}
static int holds_words(const char *text, const char *words) {
    for (;;) {
        words += strspn(words, " ");
        const size_t n = strcspn(words, " ");
        if (!n) return 1;
        if (!holds_word(text, words, n)) return 0;
        words += n;
    }
}
int soa_expr_find_identity(const char *name) {
    if (!name || !name[strspn(name, " ")]) return -1;
    for (int i = 0; i < IDENTITIES; ++i)
        if (!strcmp(identities[i].name, name)) return i;
    for (int i = 0; i < IDENTITIES; ++i)
        if (holds_words(identities[i].name, name)) return i;
    return -1;
}
