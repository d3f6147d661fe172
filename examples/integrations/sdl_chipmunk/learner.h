/* learner.h - ten landers that learn one policy while the game runs: the trainer in the game's
   memory, on the game's threads, in a few milliseconds of each frame. */
#ifndef LEARNER_H
#define LEARNER_H
#include "jobs.h"
#include "lander.h"
#include <stdio.h>
#include <stdlib.h>

enum { AGENTS = 10, F = 3, ROUNDS = 400, CURVE = 400, MEMORY = 16 << 20 };

typedef struct learner {
    lander worlds[AGENTS];
    rn_net net;
    rn_policy policy;
    rn_trainer *trainer;
    unsigned char *memory; /* of the game: the trainer has all of it */
    jobs jobs;
    int corrupted[AGENTS]; /* by the player, or by --corrupt */
    int trusting;          /* 1: the mean instead of MDA */
    uint64_t seed;
    double steps_per_ms;    /* how fast this machine is, as seen so far */
    float curve[CURVE];     /* mean return of the rounds done */
    char work[1 << 14];     /* of rn_policy_act() */
    rn_real theta[1 << 12]; /* where a trainer that starts anew may begin */
} learner;

static double learner_ms(void) {
    return 1e3 * (double)SDL_GetPerformanceCounter() / (double)SDL_GetPerformanceFrequency();
}

static void learner_fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* The default recipe, with four times the rounds (a landing is a longer story than a pole),
   discount 0.99 for flights of 100 steps, and MDA behind NNM instead of CWTM: a player may corrupt
   more than F, and with four it learned to land with 8 of 10 seeds, CWTM with none. It ends above
   0: a game has no last round. */
static rn_trainer_desc learner_describe(learner *l, const rn_env *envs) {
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, F, envs, l->policy);
    d.method.horizon = LANDER_HORIZON;
    d.method.discount = 0.99;
    d.server.gamma = rn_schedule_linear(0.16, 0.004, ROUNDS);
    d.server.watch = RN_WATCH_NEWS;
    d.server.agg.rule = l->trusting ? AGG_MEAN : AGG_MDA;
    d.server.agg.pre[0] = d.server.agg.pre[1] = l->trusting ? AGG_PRE_NONE : AGG_PRE_NNM;
    d.jobs.run = jobs_run;
    d.jobs.self = &l->jobs;
    d.seed = l->seed;
    return d;
}

/* between rounds: who is corrupted sends -2.5 times what it found */
static void learner_corrupt(learner *l) {
    rn_attack flip;
    memset(&flip, 0, sizeof flip);
    for (size_t i = 0; i < AGENTS; i++)
        (void)rn_trainer_set_attack(l->trainer, i, l->corrupted[i] ? &flip : NULL);
}

/* from the beginning; or, if it has learned something already, from there */
static void learner_start(learner *l, int keep) {
    rn_env envs[AGENTS];
    char why[1024];
    for (int i = 0; i < AGENTS; i++) envs[i] = lander_env(&l->worlds[i]);
    rn_trainer_desc d = learner_describe(l, envs);
    if (keep) {
        memcpy(l->theta, rn_trainer_theta(l->trainer), l->policy.dim * sizeof(rn_real));
        d.server.theta = l->theta;
    }
    if (rn_trainer_size(&d) > MEMORY ||
        rn_trainer_init(&l->trainer, &d, l->memory, MEMORY) != RN_OK) {
        rn_trainer_explain(&d, why, sizeof why);
        learner_fail(why);
    }
    learner_corrupt(l);
}

static void learner_open(learner *l, uint64_t seed, uint64_t hills) {
    rn_net_desc shape = rn_make_net_desc(LANDER_OBS, LANDER_ACTIONS);
    memset(l, 0, sizeof *l);
    shape.hidden[0] = shape.hidden[1] = 16;
    l->policy = rn_make_net_policy(&l->net, &shape);
    l->memory = (unsigned char *)malloc(MEMORY);
    if (!l->memory || l->policy.dim > sizeof l->theta / sizeof *l->theta ||
        rn_policy_work_size(&l->policy, 0) > sizeof l->work)
        learner_fail("too little memory");
    for (int i = 0; i < AGENTS; i++) lander_open(&l->worlds[i], hills);
    l->steps_per_ms = 100;
    l->seed = seed;
    jobs_start(&l->jobs);
    learner_start(l, 0);
}

static void learner_close(learner *l) {
    jobs_stop(&l->jobs);
    for (int i = 0; i < AGENTS; i++) lander_close(&l->worlds[i]);
    free(l->memory);
}

static int learner_rounds(const learner *l) { return (int)rn_trainer_rounds_done(l->trainer); }

static void learner_end_round(learner *l) {
    const int done = learner_rounds(l);
    if (done > 0 && done <= CURVE)
        l->curve[done - 1] = (float)rn_trainer_progress(l->trainer)->mean_return;
    learner_corrupt(l);
}

/* Learns until the clock says so: in ticks of two milliseconds, as this machine's speed has them,
   and the rest of the time at most. */
static void learner_tick(learner *l, double allowed) {
    double now = learner_ms();
    const double until = now + allowed;
    while (now < until) {
        const double slice = until - now < 2 ? until - now : 2;
        size_t used = 0;
        const rn_status s =
            rn_trainer_tick(l->trainer, (size_t)(slice * l->steps_per_ms) + 1, &used);
        const double took = learner_ms() - now;
        if (s != RN_MORE) learner_end_round(l);
        if (took > 0) l->steps_per_ms += 0.1 * ((double)used / took - l->steps_per_ms);
        now += took;
    }
}

static void learner_run(learner *l, int rounds) {
    while (learner_rounds(l) < rounds) {
        if (rn_trainer_run_round(l->trainer) != RN_OK) learner_fail("a round failed");
        learner_end_round(l);
    }
}

/* the most likely action of what was learned so far */
static int learner_act(learner *l, const rn_real *obs) {
    rn_real act = 0;
    (void)rn_policy_act(&l->policy, rn_trainer_theta(l->trainer), obs, NULL, &act, l->work,
                        sizeof l->work);
    return (int)act;
}

/* ln E of an agent, and the limit that an honest one passes in one run of a hundred */
static double learner_evidence(const learner *l, int agent) {
    const rn_progress *p = rn_trainer_progress(l->trainer);
    return p->evidence ? p->evidence[agent] : 0;
}

static double learner_limit(void) { return rn_evidence_limit(0.01, AGENTS); }
#endif /* LEARNER_H */
