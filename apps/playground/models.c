/* models.c  writes the machines shipped with the playground as JSON: saved-model buffers in base64.
 *
 *   soa_playground_models FILE
 *
 * All are ideal (no friction, springs or rotors), so that operator expressions describe them
 * completely. Those on the ground have the gravity of the earth, downwards. */
#include "../../src/base/new_file.h"
#include "../output/out.h"
#include "soa/io.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *spec, *name, *text, *q; /* q: initial position, empty for neutral */
} chosen[] = {
    {"puma560", "PUMA 560", "industrial arm, 6 joints", "0.4, 0.9, -1.8, 0, 0.6, 0"},
    {"arm7", "7-joint arm", "the numbers of the KUKA iiwa", "0.3, 0.6, 0, -1.3, 0.4, 0.9, 0"},
    {"two-puma", "two PUMA 560", "on one base, 12 joints",
     "0.4, 0.9, -1.8, 0, 0.6, 0, -0.4, 0.9, -1.8, 0, 0.6, 0"},
    {"satellite", "satellite", "free-flying, two 7-joint arms",
     "0, 0, 0, 1, 0, 0, 0, 0.4, -0.6, 0, 1.3, -0.4, 0, 0, -0.4, -0.6, 0, 1.3, -0.4, 0, 0"},
    {"quadruped", "quadruped", "on a free base, 12 joints", ""},
    {"humanoid", "humanoid", "on a free base, 24 joints",
     "0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0.3, 0.15, 0, -0.8, 0.3, -0.15, 0, -0.8, 0, 0, -0.3, 0.6, "
     "-0.3, 0, 0, 0, -0.3, "
     "0.6, -0.3, 0"},
    {"planar-chain:8", "planar chain", "8 equal rods, R87 section XII", ""},
    {"random-ideal:330", "random tree", "10 joints of six kinds", ""},
};

static void base64(app_out *out, const unsigned char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const unsigned b = i + 1 < size ? bytes[i + 1] : 0;
        const unsigned c = i + 2 < size ? bytes[i + 2] : 0;
        const unsigned three = (unsigned)bytes[i] << 16 | b << 8 | c;
        out_char(out, digits[three >> 18]);
        out_char(out, digits[three >> 12 & 63]);
        out_char(out, i + 1 < size ? digits[three >> 6 & 63] : '=');
        out_char(out, i + 2 < size ? digits[three & 63] : '=');
    }
}

int main(int argc, char **argv) {
    const soa_read_options ideal = {.ideal = true};
    if (argc != 2) {
        fputs("usage: soa_playground_models FILE\n", stderr);
        return 1;
    }
    app_out out;
    out_start(&out, -1);
    out_char(&out, '[');
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; ++i) {
        const soa_model *model = NULL;
        soa_report report = {SOA_OK, -1, 0, ""};
        if (soa_stock_model_create(chosen[i].spec, &ideal, &model, &report) != SOA_OK) {
            fprintf(stderr, "soa_playground_models: %s: %s\n", chosen[i].spec, report.text);
            return 1;
        }
        double gravity[3];
        const soa_model *own = model;
        soa_model_gravity(own, gravity);
        if (gravity[0] != 0 || gravity[1] != 0 || gravity[2] != 0) {
            const soa_status s = soa_model_with_gravity(own, (double[3]){0, 0, -9.81}, &model);
            soa_model_free(own);
            if (s != SOA_OK) {
                fprintf(stderr, "soa_playground_models: %s\n", soa_status_text(s));
                return 1;
            }
        }
        out_text(&out, i ? ",\n{\"spec\": " : "{\"spec\": ");
        out_string(&out, chosen[i].spec);
        out_text(&out, ", \"name\": ");
        out_string(&out, chosen[i].name);
        out_text(&out, ", \"text\": ");
        out_string(&out, chosen[i].text);
        out_format(&out, ", \"q\": [%s], \"bytes\": \"", chosen[i].q);
        base64(&out, (const unsigned char *)model, soa_model_bytes(model));
        out_text(&out, "\"}");
        soa_model_free(model);
    }
    out_text(&out, "]\n");
    soa_report report = {.body = -1};
    soa_status s = SOA_E_MEMORY;
    if (!out.error) s = soai_new_file_write(argv[1], out.data, out.size, &report);
    if (s != SOA_OK)
        fprintf(stderr, "soa_playground_models: %s\n",
                report.text[0] != '\0' ? report.text : soa_status_text(s));
    out_free(&out);
    return s == SOA_OK ? 0 : 1;
}
