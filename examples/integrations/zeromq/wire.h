/* wire.h - what ZeroMQ has to do here: one socket at the server (ROUTER), one at each agent
   (DEALER); CURVE encrypts and proves who speaks; a handler of the server's own (ZAP) looks keys up
   in the list and stamps every message with the agent's number. Nothing here knows what is sent.

   Bounded, whatever comes: a message is at most `most` bytes long or its connection is cut, each
   connection holds at most WIRE_QUEUE messages each way, connections are read in turn, so that one
   who floods slows himself. */
#ifndef WIRE_H
#define WIRE_H
#include "keys.h"
#include <time.h>

enum { WIRE_QUEUE = 4, WIRE_ID = 256, WIRE_NAME = 40 };

/* milliseconds */
enum { WIRE_HANDSHAKE = 2000, WIRE_RETRY = 50 };

typedef struct wire {
    void *context, *socket;
    void *zap;     /* server with keys */
    void *monitor; /* agent */
    key_list allowed;
    size_t refused_keys; /* handshakes with a key that is not in the list */
} wire;

NET_FN void wire_fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

NET_FN void wire_set(void *socket, int name, int value) {
    if (zmq_setsockopt(socket, name, &value, sizeof value) != 0) wire_fail("socket option");
}

NET_FN void wire_set_text(void *socket, int name, const char *text) {
    if (zmq_setsockopt(socket, name, text, strlen(text)) != 0) wire_fail("socket option");
}

NET_FN void *wire_socket(wire *w, int type) {
    void *s = zmq_socket(w->context, type);
    if (!s) wire_fail("socket");
    wire_set(s, ZMQ_LINGER, 0);
    return s;
}

/* What both sides set. No ZMQ_HEARTBEAT_*: with them the server ended by an assertion of libzmq
   4.3.4, !_io_error, in a test. As its source reads, a connection that breaks while its queue is
   full does that at its next heartbeat, so that one agent who floods and goes could end the server.
   TCP's own probes find dead peers; links that live and are silent an agent finds by itself: it
   asks, and is always answered. */
NET_FN void wire_limits(void *socket, size_t most) {
    const int64_t bytes = (int64_t)most;
    if (zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &bytes, sizeof bytes) != 0)
        wire_fail("socket option");
    wire_set(socket, ZMQ_SNDHWM, WIRE_QUEUE);
    wire_set(socket, ZMQ_RCVHWM, WIRE_QUEUE);
    wire_set(socket, ZMQ_HANDSHAKE_IVL, WIRE_HANDSHAKE);
    wire_set(socket, ZMQ_TCP_KEEPALIVE, 1);
    wire_set(socket, ZMQ_TCP_KEEPALIVE_IDLE, 30); /* seconds */
    wire_set(socket, ZMQ_TCP_KEEPALIVE_INTVL, 10);
    wire_set(socket, ZMQ_TCP_KEEPALIVE_CNT, 3);
}

/* ---- the server */
/* key and list NULL: no keys, everybody who comes is who he says. */
NET_FN void wire_serve(wire *w, const char *address, size_t most, const key_pair *key,
                       const key_list *allowed) {
    memset(w, 0, sizeof *w);
    w->context = zmq_ctx_new();
    if (key) {
        w->allowed = *allowed;
        w->zap = wire_socket(w, ZMQ_REP);
        if (zmq_bind(w->zap, "inproc://zeromq.zap.01") != 0) wire_fail("the handler of keys");
    }
    w->socket = wire_socket(w, ZMQ_ROUTER);
    wire_limits(w->socket, most);
    if (key) {
        wire_set(w->socket, ZMQ_CURVE_SERVER, 1);
        wire_set_text(w->socket, ZMQ_CURVE_SECRETKEY, key->secret);
        wire_set_text(w->socket, ZMQ_ZAP_DOMAIN, "federation");
    } else {
        wire_set(w->socket, ZMQ_ROUTER_HANDOVER, 1); /* a socket that comes back is itself */
    }
    if (zmq_bind(w->socket, address) != 0) wire_fail(address);
}

/* Answers one question: may this key speak, and as whom? Frames in: version, id, domain, address,
   identity, mechanism, key; out: version, id, status, text, user, nothing. */
NET_FN void wire_answer_zap(wire *w) {
    enum { FRAMES = 7 };
    char frame[FRAMES][WIRE_ID], key[KEY_TEXT] = "", user[16] = "";
    int size[FRAMES] = {0}, more = 1, n = 0;
    size_t length = sizeof more;
    for (; more; n++) {
        char rest[WIRE_ID];
        const int got = zmq_recv(w->zap, n < FRAMES ? frame[n] : rest, WIRE_ID, 0);
        if (got < 0) return;
        if (n < FRAMES) size[n] = got < WIRE_ID ? got : WIRE_ID;
        if (zmq_getsockopt(w->zap, ZMQ_RCVMORE, &more, &length) != 0) return;
    }
    if (n == FRAMES && size[5] == 5 && memcmp(frame[5], "CURVE", 5) == 0 && size[6] == 32)
        zmq_z85_encode(key, (const uint8_t *)frame[6], 32);
    const int index = key[0] ? keys_index(&w->allowed, key) : -1;
    if (index >= 0) snprintf(user, sizeof user, "%d", index);
    w->refused_keys += index < 0;
    zmq_send(w->zap, "1.0", 3, ZMQ_SNDMORE);
    zmq_send(w->zap, frame[1], (size_t)(n > 1 ? size[1] : 0), ZMQ_SNDMORE);
    zmq_send(w->zap, index >= 0 ? "200" : "400", 3, ZMQ_SNDMORE);
    zmq_send(w->zap, index >= 0 ? "OK" : "No", 2, ZMQ_SNDMORE);
    zmq_send(w->zap, user, strlen(user), ZMQ_SNDMORE);
    zmq_send(w->zap, "", 0, 0);
}

/* where a connection leads: the server's own name for it */
typedef struct wire_route {
    size_t size;
    unsigned char id[WIRE_ID];
} wire_route;

/* The agent's number: from its key, or without keys from the name it took. -1: none. */
NET_FN int wire_sender(const wire *w, zmq_msg_t *body, const wire_route *from) {
    const char *user = w->zap ? zmq_msg_gets(body, "User-Id") : NULL;
    char name[WIRE_NAME] = "";
    if (!w->zap && from->size < sizeof name && from->size > 1 && from->id[0] == 'a')
        memcpy(name, from->id + 1, from->size - 1);
    if (!user) user = name;
    const size_t digits = strspn(user, "0123456789");
    return digits && digits <= 6 && (!user[digits] || user[digits] == '.') ? atoi(user) : -1;
}

/* Takes a message of two parts, the route and the body; 0: there is none. What has other parts is
   read to its end, and body is then empty. */
NET_FN int wire_take(void *socket, wire_route *from, zmq_msg_t *body) {
    const int got = zmq_recv(socket, from->id, WIRE_ID, ZMQ_DONTWAIT);
    int parts = 0;
    if (got < 0) return 0;
    from->size = got < WIRE_ID ? (size_t)got : WIRE_ID;
    zmq_msg_init(body);
    while (parts == 0 || zmq_msg_more(body)) {
        if (zmq_msg_recv(body, socket, 0) < 0) return 0;
        parts++;
    }
    if (parts > 1) {
        zmq_msg_close(body);
        zmq_msg_init(body);
    }
    return 1;
}

/* dropped if the connection is gone or its queue is full */
NET_FN void wire_give(void *socket, const wire_route *to, const void *bytes, size_t size) {
    if (to->size == 0 || zmq_send(socket, to->id, to->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) return;
    (void)zmq_send(socket, bytes, size, ZMQ_DONTWAIT);
}

/* ---- an agent */
/* Without keys an agent says itself who it is: "a7", and the time, so that two with one number are
   not one connection to the server. */
NET_FN void wire_name(char name[WIRE_NAME], unsigned index) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, WIRE_NAME, "a%u.%llx%08lx", index, (unsigned long long)now.tv_sec,
             (unsigned long)now.tv_nsec);
}

/* key and server NULL: no keys */
NET_FN void wire_connect(wire *w, const char *address, size_t most, const key_pair *key,
                         const char *server, unsigned index) {
    char name[WIRE_NAME];
    memset(w, 0, sizeof *w);
    w->context = zmq_ctx_new();
    w->socket = wire_socket(w, ZMQ_DEALER);
    wire_limits(w->socket, most);
    wire_set(w->socket, ZMQ_IMMEDIATE, 1); /* what cannot be sent now is not sent later */
    wire_set(w->socket, ZMQ_RECONNECT_IVL, WIRE_RETRY);
    wire_set(w->socket, ZMQ_RECONNECT_IVL_MAX, 20 * WIRE_RETRY);
    if (key) {
        wire_set_text(w->socket, ZMQ_CURVE_SERVERKEY, server);
        wire_set_text(w->socket, ZMQ_CURVE_PUBLICKEY, key->open);
        wire_set_text(w->socket, ZMQ_CURVE_SECRETKEY, key->secret);
    } else {
        wire_name(name, index);
        wire_set_text(w->socket, ZMQ_ROUTING_ID, name);
    }
    if (zmq_socket_monitor(w->socket, "inproc://monitor", ZMQ_EVENT_ALL) != 0)
        wire_fail("the socket's monitor");
    w->monitor = wire_socket(w, ZMQ_PAIR);
    if (zmq_connect(w->monitor, "inproc://monitor") != 0) wire_fail("the socket's monitor");
    if (zmq_connect(w->socket, address) != 0) wire_fail(address);
}

typedef enum wire_state {
    WIRE_WAITING,  /* nobody answers there: no route, or no server */
    WIRE_OPEN,     /* connected, and both sides have proved who they are */
    WIRE_LOST,     /* was open */
    WIRE_STRANGER, /* the server does not know our key */
    WIRE_OTHER     /* something is there, but it does not know the key that we take for its */
} wire_state;

static const char *const wire_words[] = {
    "no answer: no server there, or no way to it", "connected", "connection lost",
    "the server does not know this key: it is not in its list of those allowed",
    "handshake failed: it does not have the server's key, or it has no keys and this agent has"};

/* what the last events of the socket say; `now` if there were none */
NET_FN wire_state wire_watch(wire *w, wire_state now) {
    unsigned char event[6];
    char address[WIRE_ID];
    while (zmq_recv(w->monitor, event, sizeof event, ZMQ_DONTWAIT) == (int)sizeof event) {
        uint16_t kind;
        (void)zmq_recv(w->monitor, address, sizeof address, 0);
        memcpy(&kind, event, 2);
        if (kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) now = WIRE_OPEN;
        if (kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) now = WIRE_STRANGER;
        if (kind == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
            kind == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
            now = WIRE_OTHER;
        if (kind == ZMQ_EVENT_DISCONNECTED && now == WIRE_OPEN) now = WIRE_LOST;
        if (kind == ZMQ_EVENT_CLOSED && now == WIRE_LOST) now = WIRE_WAITING;
    }
    return now;
}

NET_FN void wire_close(wire *w) {
    if (w->monitor) zmq_socket_monitor(w->socket, NULL, 0);
    if (w->monitor) zmq_close(w->monitor);
    if (w->zap) zmq_close(w->zap);
    zmq_close(w->socket);
    zmq_ctx_term(w->context);
    free(w->allowed.key);
}
#endif /* WIRE_H */
