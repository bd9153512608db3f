/* op_filter.c  shows forward dynamics as in R87: the block diagram of Kalman filter and smoother
 * (Fig. 3, drawn from equations (35) to (47) and the numbered description in section XI) and the
 * dictionary of Table I.
 *
 * Misprints of the paper are corrected: (36) has z+(k-1); HP+ = 0 in section XI. */
#include "op_page.h"

#include <string.h>

/* --- does the expression contain it? ---------------------------------------------------------- */
enum { INVERSE_OF_MASS = 1, INVERSE_OF_D = 2, FILTER = 4, SMOOTHER = 8 };
static int seen(const soa_expr *e, int turned) {
    soa_expr_info info, inner;
    int found = 0;
    if (soa_expr_get_info(e, &info) != SOA_OK) return 0;
    if (info.name && !strcmp(info.name, "inv(D)")) found |= INVERSE_OF_D;
    if (info.name &&
        (!strcmp(info.name, "psi") || !strcmp(info.name, "Psi") || !strcmp(info.name, "psit")))
        found |= turned ? SMOOTHER : FILTER;
    if (info.kind == SOA_EXPR_INVERSE && soa_expr_get_info(soa_expr_part(e, 0), &inner) == SOA_OK &&
        inner.name && !strcmp(inner.name, "Mass"))
        found |= INVERSE_OF_MASS;
    if (info.kind == SOA_EXPR_ADJOINT) turned = !turned;
    for (int i = 0; i < info.count; ++i)
        found |= seen(soa_expr_part(e, i), turned);
    return found;
}
int op_filter_in(const soa_expr *e) {
    const int all = INVERSE_OF_D | FILTER | SMOOTHER, found = seen(e, 0);
    return (found & INVERSE_OF_MASS) || (found & all) == all;
}

/* --- the diagram: pieces of SVG, two halves of 500 by 320 ------------------------------------- */
static const char *const filter_svg[] = {
    "<svg class=\"flow\" viewBox=\"0 0 500 320\" role=\"img\" aria-label=\"Kalman filter, tips to "
    "base: prediction, "
    "innovations, gain, update\">\n"
    "<text class=\"title\" x=\"20\" y=\"306\">Filter: tips to base</text>\n"
    "<g class=\"causal\"><path class=\"wire\" d=\"M14 90H56M126 90H163M187 90H388M412 90H484\"/>"
    "<path class=\"wire\" d=\"M240 90V128M240 164V218M130 230H228M252 230H420M400 230V164M400 "
    "128V102M464 230H500\"/>"
    "<path class=\"wire\" d=\"M175 48V78M400 48V78\"/>"
    "<path class=\"wire again\" d=\"M484 90V18H14V90\"/>\n"
    "<path class=\"head\" d=\"M56 90l-9 -4v8zM163 90l-9 -4v8zM388 90l-9 -4v8zM240 128l-4 -9h8zM240 "
    "218l-4 -9h8zM228 "
    "230l-9 "
    "-4v8zM420 230l-9 -4v8zM400 164l-4 9h8zM400 102l-4 9h8zM175 78l-4 -9h8zM400 78l-4 -9h8zM240 "
    "18l9 -4v8z\"/>",
    "<rect x=\"56\" y=\"72\" width=\"70\" height=\"36\" rx=\"4\"/><rect x=\"218\" y=\"128\" "
    "width=\"44\" height=\"36\" "
    "rx=\"4\"/><rect x=\"378\" y=\"128\" width=\"44\" height=\"36\" rx=\"4\"/><rect x=\"420\" "
    "y=\"212\" width=\"44\" "
    "height=\"36\" rx=\"4\"/><circle cx=\"175\" cy=\"90\" r=\"12\"/><circle cx=\"400\" cy=\"90\" "
    "r=\"12\"/><circle "
    "cx=\"240\" cy=\"230\" r=\"12\"/><circle class=\"tap\" cx=\"240\" cy=\"90\" r=\"3.5\"/><circle "
    "class=\"tap\" "
    "cx=\"400\" "
    "cy=\"230\" r=\"3.5\"/></g>\n",
    "<g class=\"in\"><text x=\"91\" y=\"95\">φ(k,k−1)</text><text x=\"240\" "
    "y=\"151\">H(k)</text><text x=\"400\" "
    "y=\"151\">G(k)</text><text x=\"442\" y=\"235\">D⁻¹(k)</text><text x=\"175\" "
    "y=\"95\">+</text><text x=\"400\" "
    "y=\"95\">+</text><text x=\"240\" y=\"235\">Σ</text><text x=\"227\" y=\"213\">−</text><text "
    "x=\"220\" y=\"222\" "
    "class=\"sign\">+</text></g>\n",
    "<g class=\"tag\"><text x=\"2\" y=\"113\" class=\"start\">z⁺(k−1)</text><text x=\"175\" "
    "y=\"42\">b(k)</text><text "
    "x=\"215\" y=\"80\">z⁻(k)</text><text x=\"250\" y=\"194\" class=\"start\">H z⁻</text><text "
    "x=\"104\" y=\"235\" "
    "class=\"end\">τ(k)</text><text x=\"318\" y=\"222\">e⁻(k)</text><text x=\"410\" y=\"120\" "
    "class=\"start\">G "
    "e⁻</text><text x=\"400\" y=\"42\">P⁺(k) n(k)</text><text x=\"480\" y=\"80\" "
    "class=\"end\">z⁺(k)</text><text "
    "x=\"498\" y=\"205\" class=\"end\">e⁺(k)</text><text x=\"290\" y=\"34\" class=\"faint\">next "
    "link "
    "inward</text></g>\n",
};
static const char *const smoother_svg[] = {
    "<svg class=\"flow right\" viewBox=\"0 0 500 320\" role=\"img\" aria-label=\"smoother, base to "
    "tips: accelerations "
    "by "
    "the transposed blocks\">\n"
    "<text class=\"title\" x=\"480\" y=\"306\" text-anchor=\"end\">Smoother: base to tips</text>\n"
    "<g class=\"anticausal\"><path class=\"wire\" d=\"M16 90H48M72 90H248M272 90H374M444 90H486\"/>"
    "<path class=\"wire\" d=\"M100 90V128M100 164V218M0 230H88M112 230H370M260 230V164M260 "
    "128V102M60 48V78\"/>"
    "<path class=\"wire again\" d=\"M486 90V18H16V90\"/>\n"
    "<path class=\"head\" d=\"M48 90l-9 -4v8zM248 90l-9 -4v8zM374 90l-9 -4v8zM486 90l-9 -4v8zM100 "
    "128l-4 -9h8zM100 "
    "218l-4 "
    "-9h8zM88 230l-9 -4v8zM370 230l-9 -4v8zM260 164l-4 9h8zM260 102l-4 9h8zM60 78l-4 -9h8zM240 "
    "18l9 -4v8z\"/>",
    "<rect x=\"374\" y=\"72\" width=\"70\" height=\"36\" rx=\"4\"/><rect x=\"78\" y=\"128\" "
    "width=\"44\" height=\"36\" "
    "rx=\"4\"/><rect x=\"238\" y=\"128\" width=\"44\" height=\"36\" rx=\"4\"/><circle cx=\"60\" "
    "cy=\"90\" "
    "r=\"12\"/><circle "
    "cx=\"260\" cy=\"90\" r=\"12\"/><circle cx=\"100\" cy=\"230\" r=\"12\"/><circle class=\"tap\" "
    "cx=\"100\" cy=\"90\" "
    "r=\"3.5\"/><circle class=\"tap\" cx=\"260\" cy=\"230\" r=\"3.5\"/></g>\n",
    "<g class=\"in\"><text x=\"409\" y=\"95\">φᵀ(k,k−1)</text><text x=\"100\" "
    "y=\"151\">Gᵀ(k)</text><text x=\"260\" "
    "y=\"151\">Hᵀ(k)</text><text x=\"60\" y=\"95\">+</text><text x=\"260\" y=\"95\">+</text><text "
    "x=\"100\" "
    "y=\"235\">Σ</text><text x=\"87\" y=\"213\">−</text><text x=\"80\" y=\"222\" "
    "class=\"sign\">+</text></g>\n",
    "<g class=\"tag\"><text x=\"20\" y=\"80\" class=\"start\">λ⁺(k)</text><text x=\"60\" "
    "y=\"42\">n(k)</text><text "
    "x=\"4\" y=\"205\" class=\"start\">e⁺(k)</text><text x=\"376\" y=\"235\" "
    "class=\"start\">a(k)</text><text "
    "x=\"316\" y=\"80\">λ⁻(k)</text><text x=\"498\" y=\"113\" class=\"end\">λ⁺(k−1)</text><text "
    "x=\"300\" "
    "y=\"34\" class=\"faint\">next link outward</text></g>\n",
};
/* Positions of the numbers of section XI. */
typedef struct place {
    int number, x, y;
} place;
static const place filter_places[] = {{1, 91, 122},  {2, 206, 38},  {3, 292, 189},
                                      {4, 116, 230}, {5, 352, 217}, {6, 435, 146},
                                      {7, 452, 115}, {8, 452, 38},  {9, 484, 248}};
static const place smoother_places[] = {
    {6, 135, 146}, {10, 420, 230}, {11, 352, 75}, {12, 409, 122}};
static void put_places(app_out *out, const place *p, size_t count) {
    out_text(out, "<g class=\"place\">");
    for (size_t i = 0; i < count; ++i)
        out_format(out, "<circle cx=\"%d\" cy=\"%d\" r=\"9\"/><text x=\"%d\" y=\"%d\">%d</text>",
                   p[i].x, p[i].y, p[i].x, p[i].y + 4, p[i].number);
    out_text(out, "</g></svg>\n");
}
static const char *const steps[] = {
    "prediction across link k: the force at its outer joint carried to its inner one, (36)",
    "bias force, a known input, (36)",
    "the moment about the joint that the prediction expects, H z⁻",
    "the moment that is there: the measurement",
    "innovations: their difference, (40)",
    "Kalman gain G = P⁻ Hᵀ D⁻¹, (39), with P⁻ from the Riccati recursion (37), (43)",
    "correction of the estimate, (41)",
    "bias acceleration times the updated inertia, (41)",
    ("residual e⁺ = D⁻¹ e⁻, (42): the joint's acceleration if all joints inboard were locked (for "
     "n "
     "= 0); stored"),
    "joint acceleration a = e⁺ − Gᵀ (λ⁺ + n), (46)",
    "spatial acceleration λ⁻ = λ⁺ + n + Hᵀ a, (47)",
    "the transposed transition carries it outward, (45)",
};
static const char *const equations[][3] = {
    {"start", "z⁺(0) = 0, P⁺(0) = 0", "(35)"},
    {"state prediction", "z⁻(k) = φ(k,k−1) z⁺(k−1) + b(k)", "(36)"},
    {"inertia prediction", "P⁻(k) = φ(k,k−1) P⁺(k−1) φᵀ(k,k−1) + M(k)", "(37)"},
    {"joint axis inertia", "D(k) = H(k) P⁻(k) Hᵀ(k)", "(38)"},
    {"gain", "G(k) = P⁻(k) Hᵀ(k) D⁻¹(k)", "(39)"},
    {"innovations", "e⁻(k) = τ(k) − H(k) z⁻(k)", "(40)"},
    {"state update", "z⁺(k) = z⁻(k) + G(k) e⁻(k) + P⁺(k) n(k)", "(41)"},
    {"residuals", "e⁺(k) = D⁻¹(k) e⁻(k)", "(42)"},
    {"inertia update", "P⁺(k) = P⁻(k) − G(k) H(k) P⁻(k)", "(43)"},
    {"end", "λ⁺(N) = 0", "(44)"},
    {"costate propagation", "λ⁺(k−1) = φᵀ(k,k−1) λ⁻(k)", "(45)"},
    {"joint accelerations", "a(k) = e⁺(k) − Gᵀ(k) [λ⁺(k) + n(k)]", "(46)"},
    {"costate update", "λ⁻(k) = λ⁺(k) + n(k) + Hᵀ(k) a(k)", "(47)"},
    {"the filter's loop closed",
     "z⁻(k) = ψ(k,k−1) z⁻(k−1) + K(k,k−1) τ(k−1) + b(k) + φ(k,k−1) P⁺(k−1) n(k−1), with ψ(k,k−1) = "
     "φ(k,k−1) [I − "
     "G(k−1) "
     "H(k−1)] and K(k,k−1) = φ(k,k−1) G(k−1)",
     "(36), (40), (41); RJK91 (10)"},
    {"the smoother's", "λ⁻(k) = [I − G(k) H(k)]ᵀ [λ⁺(k) + n(k)] + Hᵀ(k) e⁺(k)", "(48)"},
};
static const char *const dictionary[][4] = {
    {"States", "x(k)", "spatial forces", "link vectors"},
    {"Costates", "λ(k)", "spatial accelerations", "<code>alpha</code>"},
    {"Measurements", "τ(k)", "active joint moments", "<code>T</code>"},
    {"Transition matrix", "φ(k,k−1)", "spatial Jacobian", "<code>phi</code>, <code>E_phi</code>"},
    {"Process error covariance", "M(k)", "spatial inertia", "<code>M</code>"},
    {"Known input", "b(k)", "spatial bias force", "<code>b</code>"},
    {"State-to-output map", "H(k)", "state-to-joint-axis map", "<code>H</code>"},
};
static const char *const dictionary_more[][4] = {
    {"Predicted state estimate (54)", "z⁻(k)", "spatial force if link k did not accelerate, (34)",
     "<code>filter</code>"},
    {"Its error covariance (56)", "P⁻(k)", "articulated inertia: joints outboard are free",
     "<code>P</code>"},
    {"Innovations (55)", "e⁻(k)", "moment left over at the joint", "<code>innovations</code>"},
    {"Innovations covariance (57)", "D(k)", "inertia about the joint axis", "<code>D</code>"},
    {"Kalman gain (39)", "G(k)", "spatial force per unit of joint moment",
     "<code>G</code>, <code>K</code>"},
    {"Transition of the filter (72)", "ψ", "force carried through free joints",
     "<code>psi</code>, <code>E_psi</code>"},
    {"Smoothed estimate (61)", "x̂ = z + Pλ", "the true forces", ""},
    {"(zero in section IX)", "n(k)", "spatial bias acceleration", "<code>a</code>, with gravity"},
};
#define COUNT(x) (sizeof(x) / sizeof *(x))

static void put_row(app_out *out, const char *const *cells, size_t count) {
    out_text(out, "<tr>");
    for (size_t i = 0; i < count; ++i)
        out_format(out, "<td%s>%s</td>", i == 1 ? " class=\"math\"" : "", cells[i]);
    out_text(out, "</tr>\n");
}
void op_filter_put(app_out *out) {
    out_text(out, "<div class=\"flows\" id=\"figure-3\">\n");
    for (size_t i = 0; i < COUNT(filter_svg); ++i)
        out_text(out, filter_svg[i]);
    put_places(out, filter_places, COUNT(filter_places));
    for (size_t i = 0; i < COUNT(smoother_svg); ++i)
        out_text(out, smoother_svg[i]);
    put_places(out, smoother_places, COUNT(smoother_places));
    out_text(out, "</div>\n<p>R87, Fig. 3, drawn from its equations: the two halves mirror each "
                  "other about the line between "
                  "them, sums become branchings, blocks their transposes. That is (I − "
                  "HψK)<sup>*</sup> D<sup>−1</sup> (I − "
                  "HψK), the inverse of the mass matrix. The paper counts k from the tip to the "
                  "base along one arm; on a tree "
                  "k−1 are the children of k, and the prediction is a sum over them.</p>\n<div "
                  "class=\"columns\"><div>\n"
                  "<h3>Walk through it (section XI)</h3>\n<ol class=\"circled\">\n");
    for (size_t i = 0; i < COUNT(steps); ++i)
        out_format(out, "<li>%s</li>\n", steps[i]);
    out_text(out, "</ol></div>\n<div><h3>Its equations</h3><table class=\"equations\"><tbody>\n");
    for (size_t i = 0; i < COUNT(equations); ++i)
        put_row(out, equations[i], 3);
    out_text(out,
             "</tbody></table></div></div>\n<h3>Table I: two theories, the same equations</h3>\n"
             "<div class=\"scroll\"><table class=\"dictionary\" "
             "id=\"table-1\"><thead><tr><th>Estimation</th><th>R87"
             "</th><th>Robot dynamics</th><th>here</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < COUNT(dictionary); ++i)
        put_row(out, dictionary[i], 4);
    out_text(out, "<tr><th colspan=\"4\">and from sections VIII to X</th></tr>\n");
    for (size_t i = 0; i < COUNT(dictionary_more); ++i)
        put_row(out, dictionary_more[i], 4);
    out_text(
        out,
        "</tbody></table></div>\n"
        "<p class=\"note\">Innovations have several values: those of R87 and FD4 differ from those "
        "of FD1 and FD3 "
        "by H P φ<sup>*</sup> <i>a</i>, because FD1 takes the bias accelerations off first.</p>\n");
}
