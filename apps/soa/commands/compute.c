/* compute.c  soa compute: reads states, one JSON object per line; prints quantities in the same
 * order. */
#define _POSIX_C_SOURCE 200809L
#include "../app.h"
#include "../compute.h"
#include "../target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FN = APP_MODEL_OPTION_COUNT, IN, OUT };

static const app_option options[] = {
    APP_MODEL_OPTIONS,
    {"--fn", NULL, "LIST", "what to compute, comma-separated (needed)"},
    {"--in", NULL, "FILE", "read from FILE instead of standard input"},
    {"--out", "-o", "FILE",
     "write to FILE instead of standard output; it appears when all is done"},
    APP_OPTION_END,
};

/* --- the stream ------------------------------------------------------------------------------- */
typedef struct stream {
    char *data;
    size_t size, capacity;
    int fd;
} stream;

/* Reads more input: number of bytes, 0 at the end, -1 on error. Before it would block, finished
 * answers are written. */
static ssize_t stream_read(stream *in, app_out *out) {
    if (in->capacity - in->size < 2) {
        size_t want = in->capacity ? 2 * in->capacity : (size_t)1 << 16;
        char *grown = want > in->capacity ? realloc(in->data, want) : NULL;
        if (!grown) {
            errno = ENOMEM;
            return -1;
        }
        in->data = grown;
        in->capacity = want;
    }
    struct pollfd ready = {.fd = in->fd, .events = POLLIN};
    if (out->size > 0 && poll(&ready, 1, 0) == 0 && out_flush(out) != 0) return 0;
    ssize_t n;
    do
        n = read(in->fd, in->data + in->size, in->capacity - in->size - 1);
    while (n < 0 && errno == EINTR);
    if (n > 0) {
        in->size += (size_t)n;
        in->data[in->size] = '\0'; /* reading numbers needs a terminator */
    }
    return n;
}

typedef struct tally {
    unsigned long lines, asked, bad, first_bad; /* asked: lines that are not blank */
    char first_error[COMPUTE_MESSAGE];
} tally;

static void answer(compute *c, const char *text, size_t length, app_out *out, tally *t) {
    enum { FLUSH_AT = 1 << 16 };
    compute_outcome outcome = compute_line(c, text, length, ++t->lines, out);
    t->asked += outcome != COMPUTE_BLANK;
    if (outcome == COMPUTE_BAD && t->bad++ == 0) {
        t->first_bad = t->lines;
        snprintf(t->first_error, sizeof t->first_error, "%s", compute_error(c));
    }
    if (out->size >= FLUSH_AT) out_flush(out);
}

/* Answers all lines of the input. Returns 0, or -1 with errno if it cannot be read further; write
 * errors are stored in out->error. */
static int answer_all(compute *c, int fd, app_out *out, tally *t) {
    stream in = {NULL, 0, 0, fd};
    size_t searched = 0;
    ssize_t n;
    while ((n = stream_read(&in, out)) > 0) {
        char *line = in.data, *end = in.data + in.size, *stop;
        while (!out->error &&
               (stop = memchr(line + searched, '\n', (size_t)(end - line) - searched)) != NULL) {
            answer(c, line, (size_t)(stop - line), out, t);
            line = stop + 1;
            searched = 0;
        }
        if (out->error) break;
        /* An incomplete line waits for its rest. */
        in.size = searched = (size_t)(end - line);
        memmove(in.data, line, in.size);
    }
    int reason = errno;
    if (n == 0 && in.size > 0 && !out->error) {
        in.data[in.size] = '\0';
        answer(c, in.data, in.size, out, t);
    }
    free(in.data);
    errno = reason;
    return n < 0 ? -1 : 0;
}

/* --- the command ------------------------------------------------------------------------------ */
static int stream_all(compute *c, const app_args *args) {
    const char *in_path = args->value[IN], *out_path = args->value[OUT];
    int in_fd = STDIN_FILENO;
    if (in_path && strcmp(in_path, "-") != 0) {
        in_fd = open(in_path, O_RDONLY);
        if (in_fd < 0) return app_fail(&app_compute, "--in %s: %s", in_path, strerror(errno));
    }
    app_target file;
    app_out out;
    tally t = {0, 0, 0, 0, ""};
    int code = APP_OK;
    if (app_target_open(&file, out_path) != 0) {
        code = app_fail(&app_compute, "--out %s: %s", out_path, strerror(errno));
    } else {
        out_start(&out, file.fd);
        if (isatty(in_fd))
            app_note("states from the terminal, a JSON object on each line: {} is the neutral one; "
                     "Ctrl-D ends\n");
        if (answer_all(c, in_fd, &out, &t) != 0)
            code = app_fail(&app_compute, "cannot read %s: %s", in_path ? in_path : "the input",
                            strerror(errno));
        if (out_flush(&out) != 0)
            code = app_fail(&app_compute, "cannot write %s: %s", out_path ? out_path : "the output",
                            strerror(out.error));
        out_free(&out);
    }
    if (app_target_close(&file, code == APP_OK) != 0 && code == APP_OK)
        code = app_fail(&app_compute, "cannot write %s: %s", out_path, strerror(errno));
    if (in_fd != STDIN_FILENO) close(in_fd);
    if (code == APP_OK && t.bad > 0) {
        app_fail(&app_compute, "%lu of %lu lines bad; the first, line %lu: %s", t.bad, t.asked,
                 t.first_bad, t.first_error);
        code = APP_SOME_BAD;
    }
    return code;
}

static int run(int argc, char **argv) {
    app_args args;
    int code = app_parse(&app_compute, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    if (!args.value[FN])
        return app_fail(&app_compute,
                        "--fn LIST is missing: say what to compute, for example --fn aba,mass "
                        "(soa help compute lists all)");
    if (app_refuse_one_input(&app_compute, args.word[0], args.value[IN]) != APP_OK)
        return APP_FAILED;
    soa_constraint_list constraints;
    const soa_model *model = app_open_closed(&app_compute, &args, &constraints);
    if (!model) return APP_FAILED;
    char message[COMPUTE_MESSAGE];
    compute *c = compute_create(model, &constraints, args.value[FN], message);
    if (c && constraints.count) {
        compute_tree_alone(c, message);
        if (message[0])
            app_fail(&app_compute,
                     "note: %s brings %d constraint%s (loops); %s: of its spanning tree alone, "
                     "loops left out (closed "
                     "and closed_id keep them)",
                     args.word[0], constraints.count, constraints.count == 1 ? "" : "s", message);
    }
    code = c ? stream_all(c, &args) : app_fail(&app_compute, "%s", message);
    compute_free(c);
    soa_constraint_list_free(&constraints);
    soa_model_free(model);
    return code;
}

const app_command app_compute = {
    .name = "compute",
    .words = "MODEL",
    .least = 1,
    .most = 1,
    .summary = "Computes dynamics for states read line by line",
    .text =
        "Each input line is one JSON object, a state:\n"
        "  q v a tau   lists of numbers (missing: zero, q neutral); sizes and order: soa info "
        "MODEL\n"
        "  fext        [{\"link\": name, \"wrench\": [nx,ny,nz,fx,fy,fz], \"frame\": "
        "\"world\"|\"body\"}, ...]\n"
        "              acting on the link at its origin, in world axes (default) or the link's "
        "own;\n"
        "              seen by rnea, aba and their derivatives\n"
        "Each output line is one JSON object with what --fn asks for:\n"
        "  rnea        tau, inverse dynamics         aba         qdd, forward dynamics\n"
        "  bias        C v + g, friction, springs    gravity     torque against gravity alone\n"
        "  mass        mass matrix, rows             mass_inv    its inverse\n"
        "  pose        {link: {R, p}}, all links     com         centre of mass\n"
        "  jacobian    {link: 6 rows of nv}          momentum    about the centre of mass\n"
        "  jdot_v      {link: [6]}, (dJ/dt) v        energy      kinetic, potential\n"
        "  compliance  {link: 6 x 6}, J M^-1 J'      operational {link: {lambda, mu, p}}, Khatib's "
        "signs\n"
        "  daba_dq daba_dv drnea_dq drnea_dv         derivatives, nv x nv, q in the tangent space\n"
        "  fd_ud       qdd by factored inertias, for heavy loads on light links\n"
        "  fd_two_sweep {qdd, compliance: {link: 6 x 6}}, serial chains in two sweeps; the link is "
        "the last\n"
        "  observability  {link: {rank, singular, directions, joints, redundant}}, J = U S V'\n"
        "  estimate    {a, tau, wrenches, with deviations and covariances, chi_square} from noisy "
        "tau and a; takes\n"
        "              tau_variance, a_variance (number, list; null: not measured), unknown "
        "[{link, covariance, mean}]\n"
        "pose:LINK, and the same for jacobian, jdot_v, compliance, operational, "
        "fd_two_sweep, observability, choose a link "
        "(default for\n"
        "all but pose: the link of the last joint in soa info); a comma belongs to LINK where the "
        "model has such\n"
        "a link.  Six-vectors are angular part first, in world axes.  With the constraints of the "
        "model (loops),\n"
        "an object each; all else takes the tree alone:\n"
        "  closed      {qdd, lambda, rows, rank, condition, redundant, method, closure}; "
        "closed:METHOD with auto,\n"
        "              kkt, forces or null_space; at the q and v given; closure: [how far, "
        "how fast] open\n"
        "  assemble    {q, v, closure}: q closed from the guess given, v fitted; what follows in "
        "LIST uses them\n"
        "  closed_id   {tau, lambda} for a, least torques; closed_id:JOINT,... by these joints "
        "alone\n"
        "A line that cannot be answered gives {\"line\": n, \"error\": \"...\"} in its place.\n"
        "Exit status: 0 all answered, 1 some lines bad, 2 usage, model or file trouble.\n",
    .options = options,
    .examples =
        "  echo '{}' | soa compute puma560 --fn gravity\n"
        "  echo '{\"q\": [0,0.5,-1,0,0.3,0], \"v\": [1,0,0,0,0,0]}' | soa compute puma560 --fn "
        "aba,energy\n"
        "  soa compute arm.urdf --ideal --fn mass,pose:tool,jacobian:tool --in states.jsonl --out "
        "answers.jsonl\n"
        "  echo '{}' | soa compute four-bar --fn assemble,closed\n"
        "  soa compute dog.urdf --floating --gravity 0,0,-1.62 --fn com,momentum < states.jsonl\n",
    .run = run,
};
