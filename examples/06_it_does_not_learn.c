/* 06: it does not learn: what now? The cart of lesson 05 on a rail with ends, where pushing costs
   more, and six things wrong that are often wrong. Ask rn_trainer_explain() first; then look at six
   figures, mend what is out of line, and look again: one thing at a time.
   The idea: the figure tells which knob to turn. First whether anything moves (rounds, gamma), then
   whether by more than noise (log_std, scaling), then what it can see (discount, horizon). The
   return comes last: it may even fall while others are still wrong.
   Build: cc -O2 -I. examples/06_it_does_not_learn.c -o 06_learn -lm && ./06_learn */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "explain.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AGENTS = 10, F = 3, LAST_ROUND = 120, STEPS = 60, SEEDS = 3, MAX_DIM = 128 };
enum { ROUNDS, GAMMA, LOG_STD, UNIT, DISCOUNT, HORIZON, KNOBS };

/* what is wrong, in the order of mending; the figure that tells, what it says, what to do */
static const struct {
    double wrong, right;
    const char *figure, *says, *mend;
} knobs[KNOBS] = {
    {20, LAST_ROUND, "gamma of the last round:", ". Theta has stood still for some time",
     "rounds: as many as are run, and a floor above 0"},
    {0.0005, 0.1, "theta moved by", ". Its steps are too short to get anywhere",
     "gamma: 200 times larger"},
    {-4, -0.5, "actions deviate by", " of a range of 2. What is not tried cannot be learned",
     "log_std: -0.5, a deviation of 0.6 at first"},
    {1000, 1, "1 m is seen as", ". All that tanh makes of it is 1 or -1",
     "scaling: metres instead of millimetres"},
    {0.5, 0.98, "it sees 1/(1-discount) =", " steps ahead. What a push costs, not what it brings",
     "discount: 0.98, so that 50 steps count"},
    {8, STEPS, "a trajectory has", " steps, parking takes 60. None of them ever saw it",
     "horizon: 60 steps"}};

/* ---- the environment; `unit`: 1 for metres, 1000 for millimetres */
typedef struct cart {
    double x, v, unit;
} cart;

static void show(const cart *c, rn_real *obs) {
    obs[0] = (rn_real)(c->x * c->unit);
    obs[1] = (rn_real)(c->v * c->unit);
}

static void reset(void *self, const agg_rng *rng, rn_real *obs) {
    cart *c = (cart *)self;
    c->x = 2 * rn_draw_uniform(rng) - 1;
    c->v = 0;
    show(c, obs);
}

static rn_step_result step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                           double *reward) {
    cart *c = (cart *)self;
    const double push = fmax(-1, fmin(1, (double)act[0]));
    (void)rng;
    c->v += 0.1 * push;
    c->x += 0.1 * c->v;
    if (fabs(c->x) > 2) c->x = c->x > 0 ? 2 : -2, c->v = 0; /* the end of the rail */
    *reward = -(c->x * c->x + 0.1 * c->v * c->v + 0.3 * push * push);
    show(c, obs);
    return RN_RUNNING;
}

/* ---- a run: what became of it, and the figures in the order of the knobs */
typedef struct result {
    double score, figure[KNOBS];
} result;

/* envs: one more than agents, for the exam */
static rn_trainer_desc describe(const double *knob, cart *carts, rn_env *envs, rn_net *net) {
    const size_t rounds = (size_t)knob[ROUNDS];
    const double end = rounds < LAST_ROUND ? 0 : knob[GAMMA] / 20;
    rn_net_desc shape = rn_make_net_desc(2, 1);
    for (int i = 0; i <= AGENTS; i++) {
        const rn_env e = {&carts[i], reset, step, 2, 1, 0, -1, 1, 0, NULL, NULL};
        carts[i].unit = knob[UNIT];
        envs[i] = e;
    }
    shape.hidden[0] = 16;
    shape.gaussian = 1;
    shape.log_std = knob[LOG_STD];
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, F, envs, rn_make_net_policy(net, &shape));
    d.adversaries = F;
    d.method.horizon = (size_t)knob[HORIZON];
    d.method.discount = knob[DISCOUNT];
    d.server.gamma = rn_schedule_linear(knob[GAMMA], end, rounds);
    return d;
}

static void add_run(const double *knob, uint64_t seed, result *sum) {
    static unsigned char scratch[8192];
    static char words[1024];
    const rn_evaluation_desc exam = {100, STEPS, 0, 5, 0}; /* as long as parking takes, always */
    rn_evaluation got = {-1e9, 0, 0, 0};                   /* unless there is a better one */
    cart carts[AGENTS + 1] = {{0, 0, 0}};
    rn_env envs[AGENTS + 1];
    rn_net net;
    rn_trainer *t = NULL;
    rn_trainer_desc d = describe(knob, carts, envs, &net);
    rn_real first[MAX_DIM];
    double moved = 0;
    d.seed = seed;
    if (!words[0] && rn_trainer_explain(&d, words, sizeof words) == RN_OK)
        printf("rn_trainer_explain() says: %s\n\n", words);
    if (explain_trainer(rn_trainer_create(&t, &d), &d) != RN_OK) exit(1);
    memcpy(first, rn_trainer_theta(t), net.dim * sizeof *first);
    for (int round = 0; round < LAST_ROUND; round++) (void)rn_trainer_run_round(t);
    const rn_progress *p = rn_trainer_progress(t);
    for (size_t i = 0; i < net.dim; i++) moved += pow((double)(p->theta[i] - first[i]), 2);
    const double deviation = exp((double)p->theta[net.dim - 1]), ahead = 1 / (1 - knob[DISCOUNT]);
    const double now[KNOBS] = {p->gamma, sqrt(moved), deviation, knob[UNIT], ahead, p->mean_length};
    for (int k = 0; k < KNOBS; k++) sum->figure[k] += now[k] / SEEDS;
    (void)rn_evaluate(&exam, &envs[AGENTS], &d.policy, p->theta, scratch, sizeof scratch, &got);
    sum->score += got.mean / SEEDS;
    rn_trainer_destroy(t);
}

static result run(const double *knob) {
    result r = {0, {0}};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) add_run(knob, seed, &r);
    return r;
}

int main(void) {
    double knob[KNOBS], alone[KNOBS], least = 1e9; /* least: that one of the six costs */
    for (int k = 0; k < KNOBS; k++) knob[k] = knobs[k].wrong, alone[k] = knobs[k].right;
    result r = run(knob);
    const double best = run(alone).score;
    printf("Mean of %d runs. alone: if nothing but this were wrong.%28s%9s\n\n%-80s %6.1f\n", SEEDS,
           "return", "alone", "0  everything is wrong", r.score);
    for (int k = 0; k < KNOBS; k++) {
        printf("   look: %s %.4g%s\n", knobs[k].figure, r.figure[k], knobs[k].says);
        fflush(stdout);
        knob[k] = knobs[k].right;
        alone[k] = knobs[k].wrong;
        r = run(knob);
        const double only = run(alone).score;
        alone[k] = knobs[k].right;
        least = fmin(least, best - only);
        printf("%d  %-77s %6.1f %8.1f\n", k + 1, knobs[k].mend, r.score, only);
    }
    const int good = r.score > -4 && least > 0.5;
    printf("\nVerdict: %s. Each of the six alone costs %.1f or more; the figures tell it first\n",
           good ? "it parks" : "still something wrong", least);
    return !good;
}
