/* 05: an environment of your own, with continuous actions. A cart on a rail is pushed by a force of
   -1 .. 1 and is to stop at 0. An environment is a struct of yours and two functions, reset and
   step; the policy is a Gaussian, whose means come from a small network.
   The idea: three choices make a continuous task learnable. Observations about as large as 1; a
   first deviation (log_std) that tries all actions that matter; actions clipped by the environment.
   Build: mkdir -p build; cc -O2 -I. examples/05_own_environment.c -o 05_own_environment -lm
   Run:   ./05_own_environment            it writes its diary: build/parking.csv and .svg */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "explain.h"
#include "progress.h"
#include <stdio.h>
#include <string.h>

enum { AGENTS = 10, F = 3, ROUNDS = 150, STEPS = 60 };

/* ---- the environment: plain data, so that every agent has one of its own */
typedef struct cart {
    double x, v; /* metres, metres a second */
} cart;

static void look(const cart *c, rn_real *obs) {
    obs[0] = (rn_real)c->x;
    obs[1] = (rn_real)c->v;
}

/* all randomness from the rng that is given, or runs will not repeat */
static void reset(void *self, const agg_rng *rng, rn_real *obs) {
    cart *c = (cart *)self;
    c->x = 2 * rn_draw_uniform(rng) - 1;
    c->v = 0;
    look(c, obs);
}

/* a tenth of a second; it costs to be away from 0, to move and to push */
static rn_step_result step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                           double *reward) {
    cart *c = (cart *)self;
    const double wanted = (double)act[0];                           /* a Gaussian has no end ... */
    const double push = wanted > 1 ? 1 : wanted < -1 ? -1 : wanted; /* ... the motor has */
    (void)rng;
    c->v += 0.1 * push;
    c->x += 0.1 * c->v;
    *reward = -(c->x * c->x + 0.1 * c->v * c->v + 0.01 * push * push);
    look(c, obs);
    return c->x > 5 || c->x < -5 ? RN_TERMINATED : RN_RUNNING; /* off the rail */
}

static rn_env make_env(cart *c) {
    rn_env e;
    memset(&e, 0, sizeof e);
    e.self = c;
    e.reset = reset;
    e.step = step;
    e.obs_dim = 2;
    e.act_dim = 1;  /* and actions stays 0: continuous */
    e.act_low = -1; /* for those who act at random */
    e.act_high = 1;
    return e;
}

/* what a textbook does: a spring and a damper, by hand */
static double by_hand(rn_env e) {
    rn_random random = rn_make_random(9, 0);
    const agg_rng rng = rn_random_rng(&random);
    double sum = 0, reward;
    rn_real obs[2], act[1];
    for (int run = 0; run < 100; run++) {
        e.reset(e.self, &rng, obs);
        for (int t = 0; t < STEPS; t++) {
            act[0] = (rn_real)(-3 * (double)obs[0] - 2.2 * (double)obs[1]);
            (void)e.step(e.self, act, &rng, obs, &reward);
            sum += reward / 100;
        }
    }
    return sum;
}

int main(void) {
    static cart carts[AGENTS + 1];
    static progress_log log;
    rn_env envs[AGENTS + 1];
    rn_net net;
    rn_trainer *trainer = NULL;
    double before = 0, after = 0;
    for (int i = 0; i <= AGENTS; i++) envs[i] = make_env(&carts[i]);
    rn_net_desc shape = rn_make_net_desc(2, 1);
    shape.hidden[0] = 16;
    shape.gaussian = 1;
    shape.log_std = -0.5; /* a deviation of e^-0.5 = 0.6; 0 would be a deviation of 1 */
    rn_policy policy = rn_make_net_policy(&net, &shape);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, F, envs, policy);
    d.method.horizon = STEPS;
    d.method.discount = 0.98; /* counts about 1/(1-0.98) = 50 steps: the task's own length */
    d.server.gamma = rn_schedule_linear(0.1, 0.005, ROUNDS);
    d.adversaries = F; /* three of the ten flip the sign of what they send */
    if (progress_open(&log, "build/parking", &d, &net) != 0)
        return fprintf(stderr, "cannot write build/parking.csv\n"), 1;
    rn_status s = explain_trainer(rn_trainer_create(&trainer, &d), &d);
    if (s != RN_OK) return 1;
    log.server = rn_trainer_server(trainer);
    s = rn_trainer_evaluate(trainer, &envs[AGENTS], 100, &before);
    printf("%d agents, %d of them adversaries\n%5s %8s %8s\n", AGENTS, F, "round", "return",
           "log_std");
    for (int t = 1; s == RN_OK && t <= ROUNDS; t++) {
        s = rn_trainer_run_round(trainer);
        if (t % 30 == 0)
            printf("%5d %8.2f %8.2f\n", t, rn_trainer_progress(trainer)->mean_return,
                   (double)rn_trainer_theta(trainer)[policy.dim - 1]);
    }
    if (s == RN_OK) s = rn_trainer_evaluate(trainer, &envs[AGENTS], 100, &after);
    if (s != RN_OK) return fprintf(stderr, "%s\n", rn_status_text(s)), 1;
    const double hand = by_hand(envs[AGENTS]);
    printf("\nReturn without noise: %.2f before, %.2f after; spring and damper by hand: %.2f\n",
           before, after, hand);
    rn_trainer_destroy(trainer);
    if (progress_close(&log, "Parking a cart: the diary of a run") != 0)
        return fprintf(stderr, "cannot write build/parking.*\n"), 1;
    printf("wrote build/parking.csv and build/parking.svg\n\nVerdict: %s\n",
           after > 1.1 * hand ? "it parks about as well as the formula, or better"
                              : "it did not learn to park");
    return !(after > 1.1 * hand);
}
