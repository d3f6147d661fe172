/* 09: a policy of your own needs two functions: act, and grad. Here: push right with probability
   p = sigmoid(theta . s), five numbers in all. grad log p is (1 - p) s if the push was right, -p s
   if it was left. Nothing else is given: the Hessian products of the algorithm are then made from
   differences of grad.
   The idea: bring your own network, in any form; the library only ever calls these two.
   Build: cc -O2 -I. examples/09_own_policy.c -o 09_own_policy -lm && ./09_own_policy */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "explain.h"
#include <math.h>
#include <stdio.h>

enum { AGENTS = 10, F = 3, DIM = 5, ROUNDS = 150 };

/* Four observations and a one. No state is kept between calls, so any number of threads may be in
   here at once. */
static double push_right(const rn_real *theta, const rn_real *obs) {
    double sum = (double)theta[4];
    for (int k = 0; k < 4; k++) sum += (double)(theta[k] * obs[k]);
    return 1 / (1 + exp(-sum));
}

static void act(void *self, const rn_real *theta, const rn_real *obs, const agg_rng *rng,
                rn_real *out, void *work) {
    const double p = push_right(theta, obs);
    (void)self, (void)work;
    out[0] = (rng ? rn_draw_uniform(rng) : 0.5) < p; /* no rng: the most likely action is wanted */
}

/* g += sum over the steps of a trajectory of w_t grad log pi(a_t|s_t) */
static void grad(void *self, const rn_real *theta, size_t T, const rn_real *obs,
                 const rn_real *taken, const rn_real *w, rn_real *g, void *work) {
    (void)self, (void)work;
    for (size_t t = 0; t < T; t++, obs += 4) {
        const rn_real score = w[t] * (rn_real)((double)taken[t] - push_right(theta, obs));
        for (int k = 0; k < 4; k++) g[k] += score * obs[k];
        g[4] += score;
    }
}

/* The one mistake everybody makes is a wrong gradient: compare it with differences of log pi before
   any training. */
static double gradient_error(const rn_policy *p) {
    const rn_real theta[DIM] = {(rn_real)0.3, (rn_real)-0.2, (rn_real)0.9, (rn_real)0.5,
                                (rn_real)0.1};
    const rn_real obs[4] = {(rn_real)0.4, (rn_real)-1, (rn_real)0.1, (rn_real)2}, one = 1;
    double worst = 0;
    for (int a = 0; a < 2; a++) {
        rn_real g[DIM] = {0}, taken = (rn_real)a;
        p->grad(p->self, theta, 1, obs, &taken, &one, g, NULL);
        for (int k = 0; k < DIM; k++) {
            const double h = 1.0 / 64;
            double logp[2];
            for (int side = 0; side < 2; side++) {
                rn_real moved[DIM];
                memcpy(moved, theta, sizeof moved);
                moved[k] += (rn_real)(side ? h : -h);
                const double right = push_right(moved, obs);
                logp[side] = log(a ? right : 1 - right);
            }
            worst = fmax(worst, fabs((logp[1] - logp[0]) / (2 * h) - (double)g[k]));
        }
    }
    return worst;
}

int main(void) {
    static cartpole poles[AGENTS + 1];
    rn_env envs[AGENTS + 1];
    rn_trainer *trainer = NULL;
    rn_policy policy;
    double score = 0;
    for (int i = 0; i <= AGENTS; i++) envs[i] = cartpole_env(&poles[i]);

    memset(&policy, 0, sizeof policy); /* dot, hvp, init, ... stay NULL */
    policy.dim = DIM;
    policy.obs_dim = 4;
    policy.act_dim = 1;
    policy.actions = 2;
    policy.act = act;
    policy.grad = grad;
    printf("largest error of grad against differences of log pi: %.1e\n\n",
           gradient_error(&policy));

    rn_trainer_desc desc = rn_make_trainer_desc(AGENTS, F, envs, policy);
    desc.server.gamma = rn_schedule_linear(0.3, 0, ROUNDS); /* larger than for a network */
    desc.adversaries = F;
    rn_status s = explain_trainer(rn_trainer_create(&trainer, &desc), &desc);
    for (int round = 0; s == RN_OK && round <= ROUNDS; round++) {
        if (round % 15 == 0) {
            s = rn_trainer_evaluate(trainer, &envs[AGENTS], 20, &score);
            const rn_real *theta = rn_trainer_theta(trainer);
            printf("round %3d: return %5.1f of 500, theta =", round, score);
            for (int k = 0; k < DIM; k++) printf(" %5.2f", (double)theta[k]);
            printf("\n");
        }
        if (s == RN_OK && round < ROUNDS) s = rn_trainer_run_round(trainer);
    }
    if (s != RN_OK) printf("%s\n", rn_status_text(s));
    printf("\nVerdict: two functions and five numbers %s\n",
           score > 450 ? "are enough to balance the pole" : "did not balance the pole");
    rn_trainer_destroy(trainer);
    return !(s == RN_OK && score > 450);
}
