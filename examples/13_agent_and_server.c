/* 13: agent and server apart, as on different machines. Both are state machines over bytes: what
   comes goes in, what is to be sent comes out, and a clock that you turn says when to wait no
   longer. Here the wire is a function call; put send() and recv() in its place. One agent falls
   silent, one has a broken memory chip, one is slow: its row comes in every third round.
   The idea: a server may be sent anything, by anybody, at any time.
   Build: cc -O2 -I. examples/13_agent_and_server.c -o 13_server && ./13_server */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "explain.h"
#include <stdio.h>
#include <stdlib.h>

enum { AGENTS = 8, F = 2, SLOW = 5, SILENT = 6, BROKEN = 7, ROUNDS = 100 };

/* What the broken one sends: three of its numbers are any bits, NaN and Inf among them. The
   checksum is made afterwards and does not tell. The robust rule has to. */
static void break_row(void *self, size_t round, rn_real *row) {
    const agg_rng *rng = (const agg_rng *)self;
    for (int k = 0; k < 3; k++) {
        const uint64_t bits = rng->next(rng->self);
        memcpy(&row[rn_draw_below(rng, 386)], &bits, sizeof *row);
    }
    (void)round;
}

/* the agent's machine, once in its loop; bytes come in by rn_peer_receive() */
static void agent_machine(rn_peer *peer, size_t link, rn_hub *server, uint64_t now) {
    rn_letter m;
    (void)rn_peer_tick(peer, now, (size_t)-1, NULL); /* plays its trajectories */
    if (link == SLOW && now % 3) return;             /* later */
    while (rn_peer_next(peer, &m)) (void)rn_hub_receive(server, link, m.bytes, m.size);
}

/* the server's machine: RN_OK if a round is over; it waits 2 for the last rows */
static rn_status server_machine(rn_hub *hub, rn_peer *const *wire, uint64_t now, rn_progress *p) {
    const rn_status s = rn_hub_tick(hub, now, p);
    rn_letter m;
    while (rn_hub_next(hub, &m))
        if (m.to != SILENT || now < 40) (void)rn_peer_receive(wire[m.to], m.bytes, m.size);
    return s;
}

static void print_table(const rn_hub *hub) {
    printf("agent  rows  stale  late  refused\n");
    for (size_t i = 0; i < AGENTS; i++) {
        const rn_peer_report *r = rn_hub_report(hub, i);
        unsigned refused = 0;
        for (int why = 1; why < RN_REASON_COUNT; why++) refused += (unsigned)r->messages[why];
        printf("%5u %5u %6u %5u %8u\n", (unsigned)i, (unsigned)r->rows, (unsigned)r->stale,
               (unsigned)r->late, refused);
    }
}

int main(void) {
    static cartpole poles[AGENTS];
    rn_net net;
    rn_net_desc shape = rn_make_net_desc(4, 2);
    rn_random random = rn_make_random(8, 0);
    agg_rng rng = rn_random_rng(&random);
    rn_env env = cartpole_env(&poles[0]);
    rn_peer *peer[AGENTS];
    rn_hub *hub;
    rn_progress progress;
    shape.hidden[0] = shape.hidden[1] = 16;
    /* what all agree on beforehand: each side takes its half of one recipe */
    const rn_trainer_desc recipe =
        rn_make_trainer_desc(AGENTS, F, &env, rn_make_net_policy(&net, &shape));
    rn_hub_desc server = rn_make_hub_desc(&recipe);
    server.patience = 2; /* then a round ends without the late, if 2f+1 rows are in */
    server.stale = 3;    /* and takes their last row for it, if it is not older than that */
    rn_status s = rn_hub_init(&hub, &server, malloc(rn_hub_size(&server)), rn_hub_size(&server));
    (void)explain_hub(s, &server);
    for (size_t i = 0; i < AGENTS && s == RN_OK; i++) {
        rn_peer_desc d = rn_make_peer_desc(&recipe, i, cartpole_env(&poles[i]));
        d.retry = 20;        /* nothing heard for so long: ask again */
        d.agent.reach = 0.2; /* a theta farther off than the server's steps (0.16) is refused */
        if (i == BROKEN) d.alter = break_row, d.alter_self = &rng;
        s = rn_peer_init(&peer[i], &d, malloc(rn_peer_size(&d)), rn_peer_size(&d));
        (void)explain_peer(s, &d);
    }
    for (uint64_t now = 1; s == RN_OK && rn_server_current_round(rn_hub_server(hub)) <= ROUNDS;
         now++) {
        for (size_t i = 0; i < AGENTS; i++) agent_machine(peer[i], i, hub, now);
        const rn_status over = server_machine(hub, peer, now, &progress);
        if (over == RN_OK && progress.round % 20 == 0)
            printf("round %3d: return of agent 0 %5.1f, late %d, dropped %d, weight of the broken "
                   "%.2f\n",
                   (int)progress.round, rn_agent_stats(rn_peer_agent(peer[0])).mean_return,
                   (int)progress.late, (int)progress.dropped, progress.weight[BROKEN]);
        else if (over != RN_MORE)
            s = over;
    }
    if (s != RN_OK) return fprintf(stderr, "%s\n", rn_status_text(s)), 1;
    print_table(hub);
    const double score = rn_agent_stats(rn_peer_agent(peer[0])).mean_return;
    printf("\nVerdict: %s: %.0f of 500, with 1 of %d agents slow, 1 silent and 1 broken; %u bytes "
           "a row\n",
           score > 450 ? "learned" : "not learned", score, AGENTS,
           (unsigned)(80 + 386 * sizeof(rn_real)));
    return !(score > 450); /* the memory goes with the program */
}
