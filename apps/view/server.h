/* server.h  the page and its socket on one address (docs/view-protocol.md, docs/view.md). */
#ifndef VIEW_SERVER_H
#define VIEW_SERVER_H
#include "session.h"

typedef struct view_server view_server;

typedef struct view_server_options {
    const char *address; /* NULL: 127.0.0.1 */
    int port;            /* 0: chosen by the system */
    const char *token;   /* token of this run: sockets that give it may command */
    int closed;          /* without the token even the page is not served */
    int once;            /* ends when the last client has disconnected */
    /* A live run starts when the first client with the token connects. */
    int begin;
    int (*stop)(void); /* called repeatedly; nonzero ends */
} view_server_options;

/* Listens from here on, answers from view_server_run on. The server does not own the session.
 * Allocates. */
soa_status view_server_open(const view_server_options *options, view_server **server,
                            soa_report *report);
/* Address such as "http://127.0.0.1:40123/", with the token. */
const char *view_server_address(const view_server *server);
/* For view_session_options.wake, with the server as argument: news from another thread. */
void view_server_wake(void *server);
/* Serves until it is stopped. SOA_OK, or SOA_E_FILE if the network failed. */
soa_status view_server_run(view_server *server, view_session *session, soa_report *report);
void view_server_close(view_server *server);

/* Writes `size` random bytes of the system as hexadecimal digits with a final 0. -1: there are
 * none. */
int view_random_token(char *text, size_t size);

#endif
