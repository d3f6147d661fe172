/* 08: agent and server apart, as on different machines. Between them are only bytes: down goes
   (round, eta, theta), up comes (round, d). Here the wire is a mailbox in memory; put send() and
   recv() in its place. One agent falls silent, another has a broken memory chip. No checksum.
   The idea: a server with a robust rule may take any bytes of the right length for numbers.
   Build: cc -O2 -I. examples/08_agent_and_server.c -o 08_server && ./08_server */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include <stdio.h>
#include <stdlib.h>

enum { AGENTS = 8, F = 2, SILENT = 6, BROKEN = 7, ROUNDS = 200, DIM = 386, MESSAGE = 8 + 4 * DIM };

/* ---- the wire: little-endian fields of 32 bits, the same on every machine */
typedef struct mailbox {
    unsigned char bytes[MESSAGE];
    size_t size; /* 0: nothing came */
} mailbox;

/* x: a uint32_t or a float */
static void put(mailbox *m, const void *x) {
    uint32_t v;
    memcpy(&v, x, 4);
    for (int b = 0; b < 4; b++) m->bytes[m->size++] = (unsigned char)(v >> 8 * b);
}

/* any 32 bits are some float; NaN and Inf are floats too */
static void get(const mailbox *m, size_t at, void *x) {
    uint32_t v = 0;
    for (size_t b = 0; b < 4; b++) v |= (uint32_t)m->bytes[at + b] << 8 * b;
    memcpy(x, &v, 4);
}

static void pack(mailbox *m, size_t round, double eta, const float *row) {
    const uint32_t number = (uint32_t)round;
    const float rate = (float)eta;
    m->size = 0;
    put(m, &number);
    put(m, &rate);
    for (int k = 0; k < DIM; k++) put(m, &row[k]);
}

/* 0: not a message */
static int unpack(const mailbox *m, size_t *round, double *eta, float *row) {
    uint32_t number;
    float rate;
    if (m->size != MESSAGE) return 0;
    get(m, 0, &number);
    get(m, 4, &rate);
    for (size_t k = 0; k < DIM; k++) get(m, 8 + 4 * k, &row[k]);
    *round = number, *eta = (double)rate;
    return 1;
}

/* ---- the agent's machine: knows its environment, its own random numbers and its d; never sees
   another agent. A message that comes twice is answered twice and makes one round. */
static void agent_machine(rn_agent *agent, const mailbox *down, mailbox *up) {
    float theta[DIM];
    rn_plan plan = {theta, 0, 0};
    if (!unpack(down, &plan.round, &plan.eta, theta)) return;
    if (rn_agent_run_plan(agent, &plan) == RN_OK)
        pack(up, plan.round, plan.eta, rn_agent_direction(agent));
}

/* ---- the server's machine: knows no environment and no policy, only N rows of numbers */
static rn_status server_machine(rn_server *server, const mailbox *up, rn_progress *progress) {
    static float row[AGENTS][DIM];
    const float *rows[AGENTS];
    for (int i = 0; i < AGENTS; i++) {
        double eta;
        size_t round = 0;
        const int came = unpack(&up[i], &round, &eta, row[i]);
        const int fresh = came && round == rn_server_current_round(server);
        rows[i] = fresh ? row[i] : NULL;
    }
    return rn_server_update(server, rows, progress);
}

/* one byte in a hundred */
static void break_bytes(mailbox *m, const agg_rng *rng) {
    for (size_t i = 8; i < m->size; i++)
        if (rn_draw_below(rng, 100) == 0) m->bytes[i] = (unsigned char)rn_draw_below(rng, 256);
}

/* Agents and server agree on a recipe beforehand; here each takes its half of the one in
   rn_make_trainer_desc(). */
static rn_status start_agent(rn_agent **agent, const rn_trainer_desc *recipe, rn_env env, int i) {
    static char memory[AGENTS][1 << 19]; /* rn_agent_size() tells how much; too little is refused */
    rn_agent_desc d;
    memset(&d, 0, sizeof d);
    d.env = env;
    d.policy = recipe->policy;
    d.method = recipe->method;
    d.stream = (uint32_t)i; /* random numbers of its own: without them all send the same row */
    d.reach = 0.1;          /* a theta farther off than the server's steps (0.08) is refused */
    return rn_agent_init(agent, &d, memory[i], sizeof memory[i]);
}

static rn_status start_server(rn_server **server, const rn_trainer_desc *recipe) {
    static char memory[1 << 16];
    static float theta[DIM];
    rn_random random = rn_make_random(1, AGENTS);
    const agg_rng rng = rn_random_rng(&random);
    rn_server_desc d = recipe->server;
    /* the only time the server hears of a policy */
    recipe->policy.init(recipe->policy.self, &rng, theta);
    d.n = AGENTS;
    d.dim = DIM;
    d.theta = theta;
    return rn_server_init(server, &d, memory, sizeof memory);
}

int main(void) {
    static cartpole poles[AGENTS];
    static mailbox down, up[AGENTS];
    rn_net net;
    rn_net_desc shape = rn_make_net_desc(4, 2);
    rn_agent *agent[AGENTS];
    rn_server *server;
    rn_random random = rn_make_random(8, 0);
    const agg_rng rng = rn_random_rng(&random);
    rn_progress progress;
    shape.hidden[0] = shape.hidden[1] = 16;
    rn_env env = cartpole_env(&poles[0]);
    const rn_trainer_desc recipe =
        rn_make_trainer_desc(AGENTS, F, &env, rn_make_net_policy(&net, &shape));
    rn_status s = start_server(&server, &recipe);
    for (int i = 0; i < AGENTS && s == RN_OK; i++)
        s = start_agent(&agent[i], &recipe, cartpole_env(&poles[i]), i);
    for (int round = 1; s == RN_OK && round <= ROUNDS; round++) {
        const rn_plan plan = rn_server_plan(server);
        pack(&down, plan.round, plan.eta, plan.theta);
        for (int i = 0; i < AGENTS; i++) {
            up[i].size = 0;
            if (i == SILENT && round > 40) continue; /* its cable is cut: an empty mailbox */
            agent_machine(agent[i], &down, &up[i]);
            if (i == BROKEN) break_bytes(&up[i], &rng);
        }
        s = server_machine(server, up, &progress);
        if (round % 20 == 0 && s == RN_OK)
            printf("round %3d: return of agent 0 %5.1f, rows dropped %d, weight of the silent "
                   "%.2f, the broken %.2f\n",
                   round, rn_agent_stats(agent[0]).mean_return, (int)progress.dropped,
                   progress.weight[SILENT], progress.weight[BROKEN]);
    }
    printf("%s: %d bytes a message, %d agents, 1 silent, 1 broken\n", rn_status_text(s), MESSAGE,
           AGENTS);
    return s != RN_OK;
}
