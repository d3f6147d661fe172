/* What does the protocol cost beside the engine that moves its bytes? A server and its agents in
   one process, two threads, over loopback: each round the server sends theta to N agents, and
   each answers with a row as long.
     engine  ZeroMQ alone moves the same bytes, nobody looks at them
     ours    rn_hub on the server's side (every check, the mean, a step), and an agent's checks and
             seals on the other; not its learning, which is not the network's
   The goal is at most 1.3 times the engine's time. Others use the machine too: rounds of both take
   turns, the least time counts. "cpu" is the processor's time of all threads, ZeroMQ's included,
   which is what is left to compare where the machine is busy. Memory is the hub's, all that the
   server keeps whatever comes.
   BENCH_QUICK=1 shortens it. Build and run: make load (Debian: libzmq3-dev) */
#include "bench.h"
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include <pthread.h>
#include <zmq.h>

enum { CASES = 8, TURNS = 5, ID = 16 };

typedef struct load_case {
    size_t n, dim;
} load_case;

static const load_case cases[CASES] = {{10, 386},      {100, 386},    {1000, 386},
                                       {10, 100000},   {100, 100000}, {10, 1000000},
                                       {1000, 100000}, {100, 1000000}};

typedef struct load {
    size_t n, dim, size, rounds; /* size: bytes of a message */
    int curve, ours;
    void *context, *server, **agent;
    char id[1024][ID]; /* the server's names for its agents */
    size_t id_size[1024];
    rn_hub *hub;
    void *memory;        /* the hub's */
    unsigned char *plan; /* what the engine sends when it is alone */
    char open[41], secret[41];
} load;

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, zmq_strerror(zmq_errno()));
    exit(1);
}

/* ---- sockets */
static void set_keys(const load *l, void *socket, int server) {
    const int yes = 1;
    if (!l->curve) return;
    if (server) {
        zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &yes, sizeof yes);
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, l->secret, 40);
        return;
    }
    zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, l->open, 40);
    zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, l->open, 40);
    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, l->secret, 40);
}

static void *open_socket(load *l, int type) {
    const int none = 0;
    void *s = zmq_socket(l->context, type);
    if (!s) fail("socket");
    zmq_setsockopt(s, ZMQ_LINGER, &none, sizeof none);
    set_keys(l, s, type == ZMQ_ROUTER);
    return s;
}

static void load_open(load *l) {
    char address[64];
    size_t size = sizeof address;
    l->context = zmq_ctx_new();
    zmq_ctx_set(l->context, ZMQ_MAX_SOCKETS, 4096);
    zmq_curve_keypair(l->open, l->secret);
    l->server = open_socket(l, ZMQ_ROUTER);
    if (zmq_bind(l->server, "tcp://127.0.0.1:*") != 0) fail("bind");
    zmq_getsockopt(l->server, ZMQ_LAST_ENDPOINT, address, &size);
    l->agent = (void **)bench_alloc(l->n, sizeof *l->agent);
    for (size_t i = 0; i < l->n; i++) {
        l->agent[i] = open_socket(l, ZMQ_DEALER);
        if (zmq_connect(l->agent[i], address) != 0) fail("connect");
    }
}

static void load_close(load *l) {
    for (size_t i = 0; i < l->n; i++) zmq_close(l->agent[i]);
    zmq_close(l->server);
    zmq_ctx_term(l->context);
    free(l->agent);
}

/* ---- the agents: one thread plays them all */
/* a row of the plan's own numbers, sealed as a peer would */
static void make_row(const load *l, size_t i, const unsigned char *plan, size_t size,
                     unsigned char *row) {
    rni_wire w;
    const uint64_t seal = rni_seal_of(plan, size);
    static const unsigned char run[16];
    if (rni_unseal(plan, size, run, &w) != RN_ACCEPTED || !rni_numbers_finite(&w)) abort();
    memcpy(row + RNI_WIRE_HEAD, w.numbers, l->dim * sizeof(rn_real));
    w.sender = (uint32_t)i;
    w.kind = RNI_ROW;
    w.answers = seal;
    w.a = 0;
    w.b = aggi_bits(1.0);
    if (rni_seal(row, run, &w) != l->size) abort();
}

static void answer(load *l, size_t i, unsigned char *row) {
    zmq_msg_t m;
    zmq_msg_init(&m);
    if (zmq_msg_recv(&m, l->agent[i], 0) != (int)l->size) fail("plan");
    if (l->ours) make_row(l, i, (const unsigned char *)zmq_msg_data(&m), l->size, row);
    zmq_msg_close(&m);
    if (zmq_send(l->agent[i], row, l->size, 0) < 0) fail("row");
}

static void *play_agents(void *self) {
    load *l = (load *)self;
    unsigned char *row = (unsigned char *)bench_alloc(l->size, 1);
    memset(row, 0, l->size);
    for (size_t r = 0; r < l->rounds; r++)
        for (size_t i = 0; i < l->n; i++) answer(l, i, row);
    free(row);
    return NULL;
}

/* ---- the server */
/* each agent says its number before the first round */
static void greet(load *l) {
    for (size_t i = 0; i < l->n; i++) {
        const uint32_t number = (uint32_t)i;
        if (zmq_send(l->agent[i], &number, 4, 0) < 0) fail("hello");
    }
    for (size_t k = 0; k < l->n; k++) {
        char id[ID];
        uint32_t i = 0;
        const int size = zmq_recv(l->server, id, ID, 0);
        if (size < 0 || zmq_recv(l->server, &i, 4, 0) != 4 || i >= l->n) fail("hello");
        memcpy(l->id[i], id, (size_t)size);
        l->id_size[i] = (size_t)size;
    }
}

static void send_to(load *l, size_t i, const void *bytes, size_t size) {
    zmq_send(l->server, l->id[i], l->id_size[i], ZMQ_SNDMORE);
    if (zmq_send(l->server, bytes, size, 0) < 0) fail("plan");
}

static void send_plans(load *l) {
    rn_letter m;
    if (!l->ours) {
        for (size_t i = 0; i < l->n; i++) send_to(l, i, l->plan, l->size);
        return;
    }
    while (rn_hub_next(l->hub, &m)) send_to(l, m.to, m.bytes, m.size);
}

/* The name of the connection is a number that counts up from the first: looked up as a server
   would, in a table. */
static size_t agent_of(const load *l, const char *id, size_t *guess) {
    for (size_t k = 0; k < l->n; k++) {
        const size_t i = (*guess + k) % l->n;
        if (memcmp(l->id[i], id, l->id_size[i]) == 0) return *guess = i;
    }
    return 0;
}

static void take_rows(load *l) {
    size_t guess = 0;
    for (size_t k = 0; k < l->n; k++, guess++) {
        char id[ID];
        zmq_msg_t m;
        zmq_msg_init(&m);
        if (zmq_recv(l->server, id, ID, 0) < 0 || zmq_msg_recv(&m, l->server, 0) < 0) fail("row");
        const size_t i = agent_of(l, id, &guess);
        if (l->ours && rn_hub_receive(l->hub, i, zmq_msg_data(&m), zmq_msg_size(&m)) != RN_ACCEPTED)
            abort();
        zmq_msg_close(&m);
    }
    if (l->ours && rn_hub_tick(l->hub, 1, NULL) != RN_OK) abort();
}

static double all_cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* seconds of a round, and of the processor; the least so far stays */
static void play(load *l, int ours, double least[2], double cpu[2]) {
    pthread_t agents;
    l->ours = ours;
    const double from = bench_now(), cpu_from = all_cpu();
    if (pthread_create(&agents, NULL, play_agents, l) != 0) exit(1);
    for (size_t r = 0; r < l->rounds; r++) {
        send_plans(l);
        take_rows(l);
    }
    pthread_join(agents, NULL);
    least[ours] = fmin(least[ours], (bench_now() - from) / (double)l->rounds);
    cpu[ours] = fmin(cpu[ours], (all_cpu() - cpu_from) / (double)l->rounds);
}

/* a hub that takes anybody's rows of this length; all have joined */
static size_t make_hub(load *l) {
    rn_hub_desc d;
    memset(&d, 0, sizeof d);
    d.server.n = l->n;
    d.server.dim = l->dim;
    d.server.agg.rule = AGG_MEAN;
    d.server.gamma = rn_schedule_constant(1e-3);
    d.server.eta = rn_schedule_constant(0.3);
    rn_real *theta = (rn_real *)bench_alloc(l->dim, sizeof *theta);
    for (size_t k = 0; k < l->dim; k++) theta[k] = (rn_real)(1e-3 * (double)(k % 97));
    d.server.theta = theta;
    const size_t size = rn_hub_size(&d);
    l->memory = bench_alloc(size, 1);
    if (rn_hub_init(&l->hub, &d, l->memory, size) != RN_OK) abort();
    free(theta);
    for (size_t i = 0; i < l->n; i++) {
        static const unsigned char run[16];
        unsigned char join[128];
        rni_wire w = rni_wire_make((uint32_t)i, RNI_JOIN);
        w.dim = l->dim;
        if (rn_hub_receive(l->hub, i, join, rni_seal(join, run, &w)) != RN_ACCEPTED) abort();
    }
    return size;
}

static void measure(const load_case *c, int curve) {
    static load l;
    double least[2] = {1e9, 1e9}, cpu[2] = {1e9, 1e9};
    memset(&l, 0, sizeof l);
    l.n = c->n;
    l.dim = c->dim;
    l.curve = curve;
    l.size = RNI_WIRE_LEAST + c->dim * sizeof(rn_real);
    const double moved = 2.0 * (double)l.n * (double)(l.size + 4000); /* of a round, about */
    l.rounds = 1 + (size_t)((bench_quick() ? 3e7 : 2e8) / moved);
    l.plan = (unsigned char *)bench_alloc(l.size, 1);
    memset(l.plan, 1, l.size);
    load_open(&l);
    greet(&l);
    const size_t hub_size = make_hub(&l);
    for (int t = 0; t < (bench_quick() ? 2 : TURNS); t++)
        for (int ours = 0; ours < 2; ours++) play(&l, ours, least, cpu);
    const double messages = 2.0 * (double)l.n / least[1];
    printf("%5d %8d  %-6s %10.1f %10.0f %8.0f %12.1f %10.0f   %5.2f %5.2f %9.1f\n", (int)l.n,
           (int)l.dim, curve ? "CURVE" : "plain", 1 / least[1], messages,
           1e-6 * messages * (double)l.size, 1 / least[0], 2.0 * (double)l.n / least[0],
           least[1] / least[0], cpu[1] / cpu[0], 1e-6 * (double)hub_size);
    fflush(stdout);
    load_close(&l);
    free(l.plan);
    free(l.memory);
}

int main(void) {
    const int count = bench_quick() ? 4 : CASES;
    printf("federation over loopback, %s; ratio: our time by the engine's, goal at most 1.3\n\n",
           BENCH_FLAGS);
    printf("    N      dim  link     rounds/s messages/s     MB/s  engine: r/s messages/s   ratio "
           "  cpu   hub, MB\n");
    for (int k = 0; k < count; k++)
        for (int curve = 0; curve < 2; curve++) measure(&cases[k], curve);
    return 0;
}
