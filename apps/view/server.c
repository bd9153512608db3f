/* server.c  serves one page and one socket, nothing else: libwebsockets on loopback.
 *
 * who      A request is accepted only if its Host is this server's own address, and on the socket
 *          only from pages that came from it (Origin). A page from elsewhere, or another name
 *          that points here, is refused with 403. A socket that gave the run's token (compared in
 *          constant time) may command; one without it may watch. With --listen or --token-file
 *          both / and /socket need it.
 * what     GET /, GET /playground, GET /socket. No file is opened and no path is formed.
 * how much At most CLIENTS sockets, WAITING other connections, 4096 bytes per message, PENDING
 *          requests, RATE messages per second. A client that exceeds this gets an error, and after
 *          BAD errors it is disconnected. Incomplete requests time out. Connections that do not
 *          answer pings are closed. If there are too many, the oldest that requested nothing is
 *          closed first.
 * out      One message at a time for each client, made when its socket can take it: answers first,
 *          then news, then the newest frame. What a slow client misses is not kept for it. */
#define _DEFAULT_SOURCE /* for getrandom */
#include "server.h"

#include "digest.h"
#include "page.h"

#include <libwebsockets.h>

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HOSTS = 40,
    CLIENTS = 8,
    /* Connections that are not (yet) sockets; beyond this the oldest is closed. */
    WAITING = 100,
    /* Descriptors, including those that are being closed. */
    CONNECTIONS = 256,
    PENDING = 64,
    BAD = 8,
    FRAGMENTS = 64,
    EVENTS_AT_ONCE = 200,
    EVENTS_MOST = 20000,
    CHUNK = 1 << 16
};
/* Messages per second, and at once. */
static const double rate_most = 1000, burst_most = 2000;
static const double frame_period = 1.0 / 60, state_period = 0.2, idle_period = 0.25;

/* s until a request is complete, and until its page is taken. */
static const double request_most = 10, download_most = 60;

/* A connection that is not (yet) a socket. */
typedef struct view_peer {
    struct lws *wsi; /* NULL: not in use */
    double since;
    int has_asked, is_leaving;
} view_peer;

typedef struct view_client {
    struct lws *wsi;
    int may_command, is_leaving;
    struct view_client *next;
    int has_scene, want_state, closing, bad;
    char in[VIEW_MESSAGE_MOST];
    size_t in_size;
    int fragments, skipping; /* skipping: ignoring the rest of a refused message */
    view_message pending[PENDING];
    int pending_count;
    char error[sizeof((soa_report *)0)->text];
    uint64_t errors_seen, summaries_seen, frame_serial;
    int record;
    int64_t events;        /* number in the page's list */
    int64_t events_at;     /* position in the record */
    double tokens, told;   /* for the rate limit; when tokens were last added */
    double framed, stated; /* when the last frame and state were sent */
    int pulls;             /* this client is pulling */
    int holds[SOA_WORLD_PULLS], hold_count;
} view_client;

typedef struct view_download { /* sending of a page */
    const unsigned char *at;
    size_t left;
} view_download;

struct view_server {
    struct lws_context *context;
    view_session *session;
    view_server_options how;
    view_client *clients;
    int client_count, was_visited, begun;
    view_peer peers[CONNECTIONS];
    char address[300];
    char host[HOSTS][80];
    int host_count;
    char scripts[2][1000]; /* hashes of scripts that the page and the playground may run */
    lws_sorted_usec_list_t timer;
    view_session_state state, before;
    /* The message being made; the newest frame, for all clients. */
    app_out out, frame;
    uint64_t frame_serial;
    unsigned char chunk[LWS_PRE + CHUNK];
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- who may connect -------------------------------------------------------------------------- */
int view_random_token(char *text, size_t size) {
    unsigned char bytes[64];
    if (size > sizeof bytes || getrandom(bytes, size, 0) != (ssize_t)size) return -1;
    for (size_t i = 0; i < size; ++i)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}
/* Compares in a time that depends only on the length of `given`. */
static int same_secret(const char *given, const char *own) {
    const size_t n = strlen(given), m = strlen(own);
    unsigned char differs = n != m;
    for (size_t i = 0; i < n; ++i)
        differs |= (unsigned char)(given[i] ^ own[m ? i % m : 0]);
    return !differs;
}
static int is_own_host(const view_server *s, const char *host) {
    for (int i = 0; i < s->host_count; ++i)
        if (view_same_host(host, s->host[i])) return 1;
    return 0;
}
/* 1: the right token was given, 0: none, -1: a wrong one. */
static int token_given(const view_server *s, struct lws *wsi) {
    char given[300];
    const char *token = lws_get_urlarg_by_name(wsi, "token=", given, sizeof given);
    if (!token) return 0;
    return same_secret(token, s->how.token) ? 1 : -1;
}
/* NULL, or why the request is refused. */
static const char *refusal(const view_server *s, struct lws *wsi, int socket, int *code) {
    char host[100] = "";
    char origin[120] = "";
    *code = 403;
    if (lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) <= 0 || !is_own_host(s, host))
        return "This server answers only to its own address.\n";
    const int length = lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN);
    if (length > 0 || socket) {
        if (length <= 0 || lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN) <= 0 ||
            strncmp(origin, "http://", 7) || !view_same_host(origin + 7, host))
            return "This server talks only to its own page.\n";
    }
    const int token = token_given(s, wsi);
    if (token < 0 || (token == 0 && s->how.closed))
        return "The address needs the token that soa view printed.\n";
    return NULL;
}

/* --- connections that are not yet sockets ----------------------------------------------------- */
static view_peer *peer_of(view_server *s, const struct lws *wsi) {
    for (int i = 0; i < CONNECTIONS; ++i)
        if (s->peers[i].wsi == wsi) return &s->peers[i];
    return NULL;
}
/* Closes at once: libwebsockets would wait 5 s for a peer to take what was already written. */
static void hang_up(struct lws *wsi) {
    shutdown(lws_get_socket_fd(wsi), SHUT_RDWR);
    lws_set_timeout(wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
}
static void send_away(view_peer *peer) {
    peer->is_leaving = 1;
    hang_up(peer->wsi);
}
/* The oldest connection that has not requested anything, else the oldest that is taking a page. */
static view_peer *oldest_peer(view_server *s, int *waiting) {
    view_peer *oldest = NULL;
    *waiting = 0;
    for (int i = 0; i < CONNECTIONS; ++i) {
        view_peer *p = &s->peers[i];
        if (!p->wsi || p->is_leaving) continue;
        ++*waiting;
        if (!oldest || p->has_asked < oldest->has_asked ||
            (p->has_asked == oldest->has_asked && p->since < oldest->since))
            oldest = p;
    }
    return oldest;
}
static void add_peer(view_server *s, struct lws *wsi) {
    int waiting;
    view_peer *oldest = oldest_peer(s, &waiting);
    if (waiting >= WAITING) send_away(oldest);
    view_peer *place = peer_of(s, NULL);
    if (place) *place = (view_peer){.wsi = wsi, .since = now()};
}
static void remove_peer(view_server *s, const struct lws *wsi) {
    view_peer *peer = peer_of(s, wsi);
    if (peer) *peer = (view_peer){0};
}
/* Closes connections that libwebsockets would keep: a request that arrives byte by byte, a page
 * that is never taken. */
static void end_late_peers(view_server *s) {
    const double t = now();
    for (int i = 0; i < CONNECTIONS; ++i) {
        view_peer *p = &s->peers[i];
        if (p->wsi && !p->is_leaving &&
            t - p->since > (p->has_asked ? download_most : request_most))
            send_away(p);
    }
}

/* --- pages ------------------------------------------------------------------------------------ */
static int put_header(struct lws *wsi, const char *name, const char *value, unsigned char **p,
                      unsigned char *end) {
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name,
                                       (const unsigned char *)value, (int)strlen(value), p, end);
}
static const unsigned char *find(const unsigned char *at, const unsigned char *end,
                                 const char *text) {
    const size_t n = strlen(text);
    for (; (size_t)(end - at) >= n; ++at)
        if (*at == (unsigned char)text[0] && !memcmp(at, text, n)) return at;
    return NULL;
}
/* Lists "'sha256-...'" of every script in a page: only these may run. Scripts for which the list
 * has no room are left out. */
static void list_scripts(const unsigned char *page, size_t size, char *list, size_t room) {
    const unsigned char *at = page, *const end = page + size;
    size_t used = 0;
    list[0] = 0;
    while (size && (at = find(at, end, "<script"))) {
        unsigned char digest[32];
        char text[64];
        const unsigned char *start = find(at, end, ">"),
                            *stop = start ? find(start, end, "</script>") : NULL;
        if (!stop) return;
        view_sha256(start + 1, (size_t)(stop - start - 1), digest);
        lws_b64_encode_string((const char *)digest, 32, text, sizeof text);
        if (used + 60 > room) return;
        used += (size_t)snprintf(list + used, room - used, " 'sha256-%s'", text);
        at = stop;
    }
}
/* Writes status line and headers. Returns 0, or -1. */
static int start_reply(struct lws *wsi, unsigned code, const char *type, size_t size,
                       const char *scripts) {
    static const char *const fixed[][2] = {
        {"x-content-type-options:", "nosniff"},
        {"x-frame-options:", "DENY"},
        {"referrer-policy:", "no-referrer"},
        {"cache-control:", "no-store"},
        {"cross-origin-opener-policy:", "same-origin"},
        {"cross-origin-resource-policy:", "same-origin"},
    };
    unsigned char buffer[LWS_PRE + 2048],
        *p = buffer + LWS_PRE, *const start = p, *const end = buffer + sizeof buffer - 1;
    char host[100] = "", policy[1600];
    if (lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) < 0 || code != 200) host[0] = 0;
    /* The page contains everything; from the network it uses only the socket. Blobs: what the page
     * saves and computes itself. */
    snprintf(policy, sizeof policy,
             "default-src 'none'; script-src%s 'wasm-unsafe-eval'; style-src 'unsafe-inline'; "
             "img-src data: blob:; font-src data:; worker-src blob:; connect-src data: blob: %s%s; "
             "base-uri 'none'; "
             "form-action 'none'; frame-ancestors 'none'",
             scripts, host[0] ? "ws://" : "", host);
    if (lws_add_http_common_headers(wsi, code, type, (lws_filepos_t)size, &p, end)) return -1;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; ++i)
        if (put_header(wsi, fixed[i][0], fixed[i][1], &p, end)) return -1;
    if (put_header(wsi, "content-security-policy:", policy, &p, end)) return -1;
    return lws_finalize_write_http_header(wsi, start, &p, end) ? -1 : 0;
}
/* Sends a sentence and closes the connection. */
static int refuse(struct lws *wsi, int code, const char *text) {
    unsigned char buffer[LWS_PRE + 200];
    const size_t size = strlen(text);
    memcpy(buffer + LWS_PRE, text, size);
    if (!start_reply(wsi, (unsigned)code, "text/plain; charset=utf-8", size, ""))
        lws_write(wsi, buffer + LWS_PRE, size, LWS_WRITE_HTTP_FINAL);
    return -1;
}
static int on_request(view_server *s, struct lws *wsi, view_download *download, const char *path) {
    char *uri;
    int length, code;
    view_peer *peer = peer_of(s, wsi);
    if (peer) {
        peer->has_asked = 1;
        peer->since = now();
    }
    if (lws_http_get_uri_and_method(wsi, &uri, &length) != LWSHUMETH_GET)
        return refuse(wsi, 405, "Only GET is answered here.\n");
    const char *why = refusal(s, wsi, 0, &code);
    if (why) return refuse(wsi, code, why);
    const bool is_playground = !strcmp(path, "/playground");
    if (!strcmp(path, "/socket")) return refuse(wsi, 426, "This is the page's socket.\n");
    if (strcmp(path, "/") != 0 && !is_playground)
        return refuse(wsi, 404, "There is nothing here; the page is at /.\n");
    if (is_playground)
        *download = (view_download){view_playground, view_playground_size};
    else
        *download = (view_download){view_page, view_page_size};
    if (!download->left)
        return refuse(wsi, 404,
                      is_playground ? "The playground is not built into this program.\n"
                                    : VIEW_NO_PAGE ".\n");
    const char *scripts = s->scripts[download->at == view_playground];
    if (start_reply(wsi, 200, "text/html; charset=utf-8", download->left, scripts)) return -1;
    lws_callback_on_writable(wsi);
    return 0;
}
static int on_download(view_server *s, struct lws *wsi, view_download *d) {
    if (!d || !d->at) return 0;
    const size_t n = d->left < CHUNK ? d->left : CHUNK;
    memcpy(s->chunk + LWS_PRE, d->at, n);
    d->at += n;
    d->left -= n;
    if (lws_write(wsi, s->chunk + LWS_PRE, n, d->left ? LWS_WRITE_HTTP : LWS_WRITE_HTTP_FINAL) <
        (int)n)
        return -1;
    if (d->left) {
        lws_callback_on_writable(wsi);
        return 0;
    }
    d->at = NULL;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}
/* Makes room for a page that may command by closing one that may only watch. */
static void end_oldest_watcher(view_server *s) {
    view_client *oldest = NULL;
    for (view_client *c = s->clients; c; c = c->next) /* newest first */
        if (!c->may_command && !c->is_leaving) oldest = c;
    if (!oldest) return;
    oldest->is_leaving = 1;
    --s->client_count;
    hang_up(oldest->wsi);
}
/* Called before a connection becomes a socket. 0: continue, 1: answered, -1: close. */
static int on_upgrade(view_server *s, struct lws *wsi) {
    char protocol[40] = "";
    char *uri = NULL;
    int length = 0, code = 403;
    const char *why = refusal(s, wsi, 1, &code);
    if (!why && (lws_http_get_uri_and_method(wsi, &uri, &length) != LWSHUMETH_GET || !uri ||
                 length != 7 || memcmp(uri, "/socket", 7))) {
        why = "There is no socket here.\n";
        code = 404;
    }
    if (!why && (lws_hdr_copy(wsi, protocol, sizeof protocol, WSI_TOKEN_PROTOCOL) <= 0 ||
                 strcmp(protocol, "soa-view-1"))) {
        why = "The socket speaks soa-view-1.\n";
        code = 400;
    }
    if (!why && s->client_count >= CLIENTS && token_given(s, wsi) > 0) end_oldest_watcher(s);
    if (!why && s->client_count >= CLIENTS) {
        why = "Too many pages look at this run.\n";
        code = 503;
    }
    if (!why) return 0;
    refuse(wsi, code, why);
    return 1;
}

/* --- requests of a client --------------------------------------------------------------------- */
static void ask_to_write(view_client *c) {
    lws_callback_on_writable(c->wsi);
}
/* Sends the client an error; closes the connection if there were too many. */
static void complain(view_client *c, const char *text) {
    snprintf(c->error, sizeof c->error, "%s", text);
    if (++c->bad >= BAD) c->closing = 1;
    /* Also if the client never reads it. */
    if (c->closing) lws_set_timeout(c->wsi, PENDING_TIMEOUT_CLOSE_SEND, 5);
    ask_to_write(c);
}

/* Remembers joints and bodies that this client holds. They are released when it disconnects. */
static void remember_hand(view_client *c, const view_message *m) {
    if (m->what == VIEW_PULL) c->pulls = 1;
    if (m->what == VIEW_RELEASE) c->pulls = 0;
    if (m->what == VIEW_RESET) c->pulls = c->hold_count = 0;
    if (m->what != VIEW_JOINT) return;
    int i = 0;
    while (i < c->hold_count && c->holds[i] != m->q)
        ++i;
    if (m->has_value && i == c->hold_count && i < SOA_WORLD_PULLS) c->holds[c->hold_count++] = m->q;
    if (!m->has_value && i < c->hold_count) c->holds[i] = c->holds[--c->hold_count];
}
static void let_go(view_server *s, view_client *c) {
    char why[100];
    view_message m = {.what = VIEW_RELEASE};
    if (!s->session) return; /* the session has ended */
    if (c->pulls) view_session_command(s->session, &m, why);
    for (int i = 0; i < c->hold_count; ++i) {
        m = (view_message){.what = VIEW_JOINT, .q = c->holds[i]};
        view_session_command(s->session, &m, why);
    }
}

static void on_message(view_server *s, view_client *c) {
    view_message m;
    char why[100];
    const double t = now();
    c->tokens = fmin(burst_most, c->tokens + rate_most * (t - c->told));
    c->told = t;
    if (c->tokens < 1) {
        complain(c, "too many messages");
        return;
    }
    c->tokens -= 1;
    if (view_message_parse(c->in, c->in_size, &m, why))
        complain(c, why);
    else if (m.what <= VIEW_SAMPLES) {
        if (c->pending_count == PENDING)
            complain(c, "too many questions at once");
        else
            c->pending[c->pending_count++] = m;
        ask_to_write(c);
    } else if (!c->may_command) {
        snprintf(c->error, sizeof c->error,
                 "this page may only watch; open the address that soa view printed");
        ask_to_write(c);
    } else if (view_session_command(s->session, &m, why)) {
        /* A valid request that cannot be done: not counted as a bad one. */
        snprintf(c->error, sizeof c->error, "%s", why);
        ask_to_write(c);
    } else
        remember_hand(c, &m);
}
static int on_bytes(view_server *s, view_client *c, struct lws *wsi, const char *bytes,
                    size_t size) {
    if (c->closing) return 0; /* the connection is being closed */
    if (lws_is_first_fragment(wsi)) {
        c->in_size = 0;
        c->fragments = 0;
        c->skipping = 0;
    }
    const int last = lws_is_final_fragment(wsi) && !lws_remaining_packet_payload(wsi);
    if (!c->skipping) {
        const char *why;
        if (lws_frame_is_binary(wsi)) {
            why = "messages are text";
        } else if (size > VIEW_MESSAGE_MOST - c->in_size) {
            why = "a message has at most 4096 bytes";
        } else if (++c->fragments > FRAGMENTS) {
            why = "a message in too many pieces";
        } else {
            why = NULL;
        }
        if (why) {
            c->skipping = 1;
            /* The total length is not known. */
            if (size > VIEW_MESSAGE_MOST - c->in_size) c->closing = 1;
            complain(c, why);
        } else {
            memcpy(c->in + c->in_size, bytes, size);
            c->in_size += size;
        }
    } else if (++c->fragments > 4 * FRAGMENTS)
        return -1;
    if (last && !c->skipping) on_message(s, c);
    return 0;
}

/* --- messages to a client --------------------------------------------------------------------- */
static void start_message(app_out *out) {
    static const char room[LWS_PRE] = {0};
    out->size = 0;
    out_bytes(out, room, LWS_PRE);
}
static int send_message(view_client *c, app_out *out, enum lws_write_protocol kind) {
    if (out->error || out->size < LWS_PRE) return -1;
    const size_t n = out->size - LWS_PRE;
    const int sent = lws_write(c->wsi, (unsigned char *)out->data + LWS_PRE, n, kind);
    /* Do not keep the memory of a long answer. */
    if (out->capacity > 8u << 20) out_free(out);
    return sent < (int)n ? -1 : 0;
}

static int send_scene(view_server *s, view_client *c) {
    view_scene *scene = view_session_scene(s->session);
    view_session_look(s->session, &s->state);
    start_message(&s->out);
    if (view_scene_json(scene, &s->out)) return -1;
    c->has_scene = 1;
    c->want_state = 1;
    c->summaries_seen = s->state.summaries;
    c->events = view_event_count(scene);
    c->events_at = s->state.events;
    c->record = s->state.record;
    return send_message(c, &s->out, LWS_WRITE_TEXT);
}
static int send_summary(view_server *s, view_client *c) {
    start_message(&s->out);
    c->summaries_seen = s->state.summaries;
    return view_summary_json(view_session_scene(s->session), &s->out)
               ? -1
               : send_message(c, &s->out, LWS_WRITE_TEXT);
}
static int send_error(view_server *s, view_client *c) {
    start_message(&s->out);
    out_text(&s->out, "{\"kind\": \"error\", \"text\": ");
    out_string(&s->out, c->error);
    out_char(&s->out, '}');
    c->error[0] = 0;
    return send_message(c, &s->out, LWS_WRITE_TEXT);
}
static int send_state(view_server *s, view_client *c) {
    const view_session_state *x = &s->state;
    app_out *out = &s->out;
    start_message(out);
    out_format(
        out, "{\"kind\": \"state\", \"live\": %s, \"playing\": %s, \"ended\": %s, \"speed\": ",
        x->live ? "true" : "false", x->playing ? "true" : "false", x->ended ? "true" : "false");
    out_number(out, x->speed);
    out_text(out, ", \"t\": ");
    out_number(out, x->t);
    out_text(out, ", \"first\": ");
    out_number(out, x->first);
    out_text(out, ", \"last\": ");
    out_number(out, x->last);
    out_text(out, ", \"factor\": ");
    out_number(out, x->factor);
    out_format(out, ", \"commands\": %s", c->may_command ? "true" : "false");
    out_format(out, ", \"ticks\": %llu, \"phase\": ", (unsigned long long)x->tick);
    out_string(out, x->phase);
    out_char(out, '}');
    c->want_state = 0;
    c->stated = now();
    return send_message(c, out, LWS_WRITE_TEXT);
}
/* Sends events since the last call; after a reset from the beginning. */
static int send_events(view_server *s, view_client *c) {
    soa_log *log = view_session_log(s->session);
    app_out *out = &s->out;
    if (c->record != s->state.record) {
        c->record = s->state.record;
        c->events = c->events_at = 0;
    }
    start_message(out);
    out_format(out, "{\"kind\": \"events\", \"from\": %lld, \"list\": [", (long long)c->events);
    int count = 0;
    for (; c->events_at < s->state.events && count < EVENTS_AT_ONCE; ++c->events_at) {
        soa_log_event_info e;
        if (soa_log_read_event(log, c->events_at, &e, NULL)) {
            c->events_at = s->state.events;
            break;
        }
        /* Long lists are limited to phases. */
        if (c->events + count >= EVENTS_MOST && strcmp(e.kind, "phase")) continue;
        out_text(out, count++ ? ", {\"t\": " : "{\"t\": ");
        out_number(out, e.t);
        out_text(out, ", \"kind\": ");
        out_string(out, e.kind);
        out_text(out, ", \"text\": ");
        out_string(out, e.text);
        out_char(out, '}');
    }
    out_text(out, "]}");
    c->events += count;
    return send_message(c, out, LWS_WRITE_TEXT);
}
static int send_answer(view_server *s, view_client *c) {
    const view_message m = c->pending[0];
    soa_report report;
    memmove(c->pending, c->pending + 1, (size_t)--c->pending_count * sizeof *c->pending);
    start_message(&s->out);
    if (!view_session_answer(s->session, &m, &s->out, &report))
        return send_message(c, &s->out, LWS_WRITE_BINARY);
    if (s->out.error) out_free(&s->out);
    snprintf(c->error, sizeof c->error, "%s",
             report.text[0] ? report.text : soa_status_text(report.status));
    return send_error(s, c);
}
static int send_frame(view_server *s, view_client *c) {
    c->frame_serial = s->frame_serial;
    c->framed = now();
    return send_message(c, &s->frame, LWS_WRITE_BINARY);
}

static int on_writable(view_server *s, view_client *c) {
    int bad = 0;
    if (c->error[0] && c->has_scene)
        bad = send_error(s, c);
    else if (c->closing) {
        lws_close_reason(c->wsi, LWS_CLOSE_STATUS_POLICY_VIOLATION,
                         (unsigned char *)"too many mistakes", 17);
        return -1;
    } else if (!c->has_scene)
        bad = send_scene(s, c);
    else if (c->pending_count)
        bad = send_answer(s, c);
    else if (c->want_state)
        bad = send_state(s, c);
    else if (c->summaries_seen != s->state.summaries)
        bad = send_summary(s, c);
    else if (c->record != s->state.record || c->events_at < s->state.events)
        bad = send_events(s, c);
    else if (c->frame_serial < s->frame_serial && now() - c->framed >= 0.9 * frame_period)
        bad = send_frame(s, c);
    else
        return 0;
    if (bad) return -1;
    if (c->error[0] || c->closing || c->pending_count || c->want_state ||
        c->summaries_seen != s->state.summaries || c->record != s->state.record ||
        c->events_at < s->state.events)
        ask_to_write(c);
    return 0;
}

/* --- timing ----------------------------------------------------------------------------------- */
/* Checks for news and requests write callbacks to send them. */
static void look(view_server *s) {
    s->before = s->state;
    view_session_look(s->session, &s->state);
    const view_session_state *x = &s->state, *y = &s->before;
    const int changed = x->done != y->done || x->playing != y->playing || x->ended != y->ended ||
                        x->record != y->record || x->speed != y->speed ||
                        (!x->playing && x->tick != y->tick);
    const double t = now();
    if (x->live && s->clients) {
        uint64_t serial = s->frame_serial;
        start_message(&s->out);
        if (view_session_frame(s->session, 0, &serial, &s->out) == 1) {
            const app_out older = s->frame;
            s->frame = s->out;
            s->out = older;
            s->frame_serial = serial;
        }
    }
    for (view_client *c = s->clients; c; c = c->next) {
        if (!c->has_scene) continue;
        if (c->errors_seen != x->errors) {
            c->errors_seen = x->errors;
            snprintf(c->error, sizeof c->error, "%s", x->error);
        }
        if (changed || ((x->playing || x->last != y->last) && t - c->stated >= state_period))
            c->want_state = 1;
        if (c->want_state || c->error[0] || c->summaries_seen != x->summaries ||
            c->frame_serial < s->frame_serial || c->events_at < x->events || c->record != x->record)
            ask_to_write(c);
    }
}
static void on_timer(lws_sorted_usec_list_t *timer) {
    view_server *s = lws_container_of(timer, view_server, timer);
    double next = idle_period;
    end_late_peers(s);
    if (s->clients) {
        look(s);
        next = s->state.live ? frame_period : state_period;
    }
    lws_sul_schedule(s->context, 0, &s->timer, on_timer, (lws_usec_t)(1e6 * next));
}

/* --- libwebsockets ---------------------------------------------------------------------------- */
static void add_client(view_server *s, view_client *c, struct lws *wsi) {
    *c = (view_client){.wsi = wsi, .next = s->clients, .tokens = burst_most, .told = now()};
    c->may_command = token_given(s, wsi) > 0;
    remove_peer(s, wsi);
    view_session_hold(s->session, 0);
    s->clients = c;
    ++s->client_count;
    s->was_visited = 1;
    c->errors_seen = s->state.errors;
    if (s->how.begin && !s->begun && c->may_command) {
        const view_message play = {.what = VIEW_PLAY};
        char why[100];
        view_session_command(s->session, &play, why);
    }
    if (c->may_command) s->begun = 1;
    lws_sul_schedule(s->context, 0, &s->timer, on_timer, 1);
    ask_to_write(c);
}
static void remove_client(view_server *s, view_client *c) {
    view_client **at = &s->clients;
    while (*at && *at != c)
        at = &(*at)->next;
    if (!*at) return;
    *at = c->next;
    if (!c->is_leaving) --s->client_count;
    let_go(s, c);
    if (s->session && !s->clients) view_session_hold(s->session, 1);
}

static int callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t size) {
    view_server *s = wsi && lws_get_context(wsi) ? lws_context_user(lws_get_context(wsi)) : NULL;
    switch (reason) {
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
        if (s) add_peer(s, wsi);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        if (s) remove_peer(s, wsi);
        return 0;
    case LWS_CALLBACK_HTTP: return on_request(s, wsi, user, in);
    case LWS_CALLBACK_HTTP_WRITEABLE: return on_download(s, wsi, user);
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return on_upgrade(s, wsi);
    case LWS_CALLBACK_ESTABLISHED:
        if (strcmp(lws_get_protocol(wsi)->name, "soa-view-1")) return -1;
        add_client(s, user, wsi);
        return 0;
    case LWS_CALLBACK_RECEIVE: return on_bytes(s, user, wsi, in, size);
    case LWS_CALLBACK_SERVER_WRITEABLE: return on_writable(s, user);
    case LWS_CALLBACK_CLOSED:
        if (user) remove_client(s, user);
        return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        if (s && s->session && s->clients && !strcmp(lws_get_protocol(wsi)->name, "soa-view-1"))
            look(s);
        return 0;
    default: return 0;
    }
}

static const struct lws_protocols protocols[] = {
    {"http", callback, sizeof(view_download), 0, 0, NULL, 0},
    {"soa-view-1", callback, sizeof(view_client), VIEW_MESSAGE_MOST, 0, NULL, 0},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};
/* Clients that do not answer a ping are disconnected. */
static const lws_retry_bo_t validity = {.secs_since_valid_ping = 20, .secs_since_valid_hangup = 60};

static soa_status fail(soa_report *report, const char *text, const char *address, int port) {
    *report = (soa_report){.status = SOA_E_FILE, .body = -1};
    snprintf(report->text, sizeof report->text, text, address, port);
    return SOA_E_FILE;
}

static void add_host(view_server *s, const char *name, int port) {
    if (s->host_count < HOSTS)
        snprintf(s->host[s->host_count++], sizeof s->host[0], "%.60s:%d", name, port);
}
/* Host names accepted by the server; the first is printed. */
static void name_hosts(view_server *s, const char *address, int port) {
    const int everywhere = !strcmp(address, "0.0.0.0");
    struct ifaddrs *list = NULL;
    char name[60];
    if (everywhere && !getifaddrs(&list)) {
        for (int loopback = 0; loopback < 2; ++loopback)
            for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
                struct sockaddr_in at;
                if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
                    !(i->ifa_flags & IFF_LOOPBACK) != !loopback)
                    continue;
                memcpy(&at, i->ifa_addr, sizeof at);
                if (inet_ntop(AF_INET, &at.sin_addr, name, sizeof name)) add_host(s, name, port);
            }
        freeifaddrs(list);
        if (!gethostname(name, sizeof name - 1)) {
            name[sizeof name - 1] = 0;
            add_host(s, name, port);
        }
    }
    if (!everywhere || !s->host_count) add_host(s, everywhere ? "127.0.0.1" : address, port);
    if (everywhere || !strncmp(address, "127.", 4)) add_host(s, "localhost", port);
}

/* 0, or the reason why listening there fails, which libwebsockets does not report. */
static int listen_error(const char *address, int port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    int error = fd < 0 || inet_pton(AF_INET, address, &at.sin_addr) != 1 ? EINVAL : 0;
    if (!error && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
                   bind(fd, (const struct sockaddr *)&at, sizeof at) || listen(fd, 1)))
        error = errno;
    if (fd >= 0) close(fd);
    return error;
}

soa_status view_server_open(const view_server_options *options, view_server **server,
                            soa_report *report) {
    view_server *s = calloc(1, sizeof *s);
    const char *address = options->address ? options->address : "127.0.0.1";
    if (!s) return fail(report, "no memory for a server at %.60s:%d", address, options->port);
    const int error = listen_error(address, options->port);
    if (error) {
        free(s);
        fail(report, "cannot listen at %.60s:%d: ", address, options->port);
        snprintf(report->text + strlen(report->text), 100, "%.99s", strerror(error));
        return SOA_E_FILE;
    }
    s->how = *options;
    out_start(&s->out, -1);
    out_start(&s->frame, -1);
    list_scripts(view_page, view_page_size, s->scripts[0], sizeof s->scripts[0]);
    list_scripts(view_playground, view_playground_size, s->scripts[1], sizeof s->scripts[1]);
    lws_set_log_level(0, NULL);
    const struct lws_context_creation_info info = {
        .port = options->port,
        .iface = address,
        .protocols = protocols,
        .user = s,
        .gid = -1,
        .uid = -1,
        .server_string = "soa",
        .options = LWS_SERVER_OPTION_DISABLE_IPV6 | LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
                   LWS_SERVER_OPTION_VALIDATE_UTF8,
        .timeout_secs = 5,
        .timeout_secs_ah_idle = 5,
        .keepalive_timeout = 5,
        .fd_limit_per_thread = CONNECTIONS,
        .max_http_header_pool = CONNECTIONS,
        .retry_and_idle_policy = &validity,
    };
    s->context = lws_create_context(&info);
    struct lws_vhost *host = s->context ? lws_get_vhost_by_name(s->context, "default") : NULL;
    const int port = host ? lws_get_vhost_listen_port(host) : 0;
    if (port <= 0) {
        view_server_close(s);
        return fail(report, "cannot listen at %.60s:%d", address, options->port);
    }
    name_hosts(s, address, port);
    snprintf(s->address, sizeof s->address, "http://%s/%s%s", s->host[0],
             "?token=", options->token);
    *server = s;
    return SOA_OK;
}
const char *view_server_address(const view_server *s) {
    return s->address;
}
void view_server_wake(void *server) {
    lws_cancel_service(((view_server *)server)->context);
}
soa_status view_server_run(view_server *s, view_session *session, soa_report *report) {
    *report = (soa_report){.body = -1};
    s->session = session;
    lws_sul_schedule(s->context, 0, &s->timer, on_timer, 1);
    soa_status status = SOA_OK;
    while (!status && !(s->how.stop && s->how.stop()) &&
           !(s->how.once && s->was_visited && !s->clients))
        if (lws_service(s->context, 0) < 0)
            status = fail(report, "the network at %.100s failed (%d)", s->address, 0);
    s->session = NULL;
    lws_sul_cancel(&s->timer);
    return status;
}
void view_server_close(view_server *s) {
    if (!s) return;
    if (s->context) lws_context_destroy(s->context);
    out_free(&s->out);
    out_free(&s->frame);
    free(s);
}
