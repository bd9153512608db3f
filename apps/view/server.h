/* server.h  the page and its socket on one address (docs/view-protocol.md, docs/view.md). */
#ifndef VIEW_SERVER_H
#define VIEW_SERVER_H
#include "session.h"

typedef struct view_server view_server;

typedef struct view_server_options {
    const char *address; /* NULL: 127.0.0.1                                        */
    int port;            /* 0: chosen by the system                                */
    const char *token;   /* of this run: sockets that give it may command          */
    int closed;          /* without the token not even the page is served          */
    int once;            /* ends when the last client has gone                     */
    int begin;           /* a live run starts when the first client with the token has come */
    int (*stop)(void);   /* asked all the time: nonzero ends                       */
} view_server_options;

/* Listens from here on, answers from view_server_run on; the session is not the server's.  Allocates. */
soa_status view_server_open(const view_server_options *options, view_server **server, soa_report *report);
/* "http://127.0.0.1:40123/", with the token. */
const char *view_server_address(const view_server *server);
/* For view_session_options.wake, with the server: news from another thread. */
void view_server_wake(void *server);
/* Serves until it is told to stop.  SOA_OK, or SOA_E_FILE if the network failed. */
soa_status view_server_run(view_server *server, view_session *session, soa_report *report);
void view_server_close(view_server *server);

/* `size` bytes drawn by the system as hexadecimal digits and a 0; -1: there are none. */
int view_random_token(char *text, size_t size);

#endif
