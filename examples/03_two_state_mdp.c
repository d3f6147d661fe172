/* 03: an environment so small that everything about it is known: two states, two actions. Dynamic
   programming gives the best possible value J*, and the exact value J of any policy; so the gap
   J* - J is measured without any noise, while the agents learn from noisy trajectories and three of
   ten are Byzantine. The schedules are those of the paper's theorem.
   The idea: with a resilient rule the gap closes, round by round, as if there were no adversaries.
   Build: cc -O2 -I. examples/03_two_state_mdp.c -o 03_two_state_mdp -lm && ./03_two_state_mdp */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "explain.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AGENTS = 10, F = 3, ROUNDS = 512, COLUMNS = 4 };

static const double discount = 0.9;

/* State 0 is the poor valley, state 1 the rich hill. Action 0 works, action 1 walks to the other
   state, and fails now and then. Work in the valley pays a little, at once; the walk uphill pays
   nothing, but later. */
static const double pay[2][2] = {{0.2, 0.0}, {1.0, 0.4}};  /* [state][action] */
static const double hill[2][2] = {{0.0, 0.8}, {0.9, 0.1}}; /* probability of state 1 next */

/* ---- what is known: values by repeated application of Bellman's equations */
static double action_value(int s, int a, const double v[2]) {
    return pay[s][a] + discount * (hill[s][a] * v[1] + (1 - hill[s][a]) * v[0]);
}

/* J*, from the valley */
static double best_value(void) {
    double v[2] = {0, 0};
    for (int i = 0; i < 2000; i++)
        for (int s = 0; s < 2; s++) v[s] = fmax(action_value(s, 0, v), action_value(s, 1, v));
    return v[0];
}

/* J of the softmax policy with logits theta[state][action] */
static double value_of(const rn_real *theta) {
    double v[2] = {0, 0};
    for (int i = 0; i < 2000; i++)
        for (int s = 0; s < 2; s++) {
            const double logit = (double)theta[2 * s] - (double)theta[2 * s + 1];
            const double p = 1 / (1 + exp(logit)); /* of action 1 */
            v[s] = (1 - p) * action_value(s, 0, v) + p * action_value(s, 1, v);
        }
    return v[0];
}

/* ---- what the agents see: an environment to try out, one step at a time */
static void reset(void *self, const agg_rng *rng, rn_real *obs) {
    (void)rng;
    *(int *)self = 0;
    obs[0] = 0;
}

static rn_step_result step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                           double *reward) {
    int *state = (int *)self;
    const int a = act[0] > 0;
    *reward = pay[*state][a];
    *state = rn_draw_uniform(rng) < hill[*state][a];
    obs[0] = (rn_real)*state;
    return RN_RUNNING; /* never ends by itself: the horizon does it */
}

static rn_trainer *start(agg_rule rule, size_t adversaries, int states[AGENTS]) {
    static rn_table table;
    rn_trainer *trainer = NULL;
    rn_env envs[AGENTS];
    rn_trainer_desc d;
    memset(envs, 0, sizeof envs);
    memset(&d, 0, sizeof d);
    for (int i = 0; i < AGENTS; i++) {
        envs[i].self = &states[i];
        envs[i].reset = reset;
        envs[i].step = step;
        envs[i].obs_dim = envs[i].act_dim = 1;
        envs[i].actions = 2;
    }
    d.agents = AGENTS;
    d.envs = envs;
    d.policy = rn_make_table_policy(&table, 2, 2); /* a logit per state and action, 0 at first */
    d.method.discount = discount;
    d.method.batch = 4; /* trajectories per estimate */
    d.method.horizon = rn_theory_horizon(ROUNDS, discount);
    d.server.agg.rule = rule;
    d.server.agg.f = adversaries;
    d.server.eta = rn_theory_eta();           /* 1/t */
    d.server.gamma = rn_theory_gamma(0.5, 3); /* 6 G1/(muF (t+2)), here 1/(t+2): both guessed */
    d.adversaries = adversaries;
    d.attack.vector.strength = 5; /* sign flipping: they send -5 times what they should */
    d.seed = 3;
    rn_status s = explain_trainer(rn_trainer_create(&trainer, &d), &d);
    if (s != RN_OK) exit(1);
    return trainer;
}

int main(void) {
    static const struct {
        agg_rule rule;
        size_t adversaries;
    } column[COLUMNS] = {{AGG_MEAN, 0}, {AGG_MEAN, F}, {AGG_MDA, F}, {AGG_CWTM, F}};

    static int states[COLUMNS][AGENTS];
    rn_trainer *trainer[COLUMNS];
    const double best = best_value();
    for (int c = 0; c < COLUMNS; c++)
        trainer[c] = start(column[c].rule, column[c].adversaries, states[c]);

    printf("J* = %.6f. The gap J* - J(theta) of what %d agents have learned after t rounds:\n\n%6s",
           best, AGENTS, "t");
    for (int c = 0; c < COLUMNS; c++)
        printf("  %4s, %d adversaries", agg_rule_name(column[c].rule), (int)column[c].adversaries);
    for (size_t t = 0, next = 0; t <= ROUNDS; t++) {
        if (t == next || t == ROUNDS) {
            printf("\n%6d", (int)t);
            for (int c = 0; c < COLUMNS; c++)
                printf("  %19.6f", best - value_of(rn_trainer_theta(trainer[c])));
            next = next ? 2 * next : 1;
            fflush(stdout);
        }
        for (int c = 0; c < COLUMNS && t < ROUNDS; c++)
            if (rn_trainer_run_round(trainer[c]) != RN_OK) return 1;
    }
    const double gap[2] = {best - value_of(rn_trainer_theta(trainer[1])),
                           best - value_of(rn_trainer_theta(trainer[2]))};
    const int closes = gap[1] < 0.1 * gap[0];
    printf("\n\nVerdict: among adversaries the gap is %.2f with the mean and %.2f with MDA: %s\n"
           "(The paper promises about t^-1/2, up to logarithms, for a resilient rule.)\n",
           gap[0], gap[1], closes ? "only a resilient rule closes it" : "not what was expected");
    for (int c = 0; c < COLUMNS; c++) rn_trainer_destroy(trainer[c]);
    return !closes;
}
