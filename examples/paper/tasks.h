/* tasks.h - what figure1 and attacks train: CartPole and InvertedPendulum, the eight algorithms of
   the paper and its three attacks. The recipes stand in one table below: one per task, the same for
   every algorithm and attack. */
#ifndef TASKS_H
#define TASKS_H
#include "trials.h"
#include "../envs/cartpole.h"
#include "../envs/inverted_pendulum.h"

/* learners: six resilient rules, the mean, vanilla policy gradient with the mean */
enum { TASKS = 2, LEARNERS = 8, ROBUST = 6, SM = 6, PG_SM = 7 };

/* clang-format off */
static const learner learners[LEARNERS] = {
    {"MDA",    AGG_MDA,    0, 0}, {"CWTM", AGG_CWTM, 0, 0}, {"CWMed", AGG_CWMED, 0, 0},
    {"MeaMed", AGG_MEAMED, 0, 0}, {"Krum", AGG_KRUM, 0, 0}, {"GM",    AGG_GM,    0, 0},
    {"SM",     AGG_MEAN,   0, 0}, {"PG-SM", AGG_MEAN, 1, 1}};
/* clang-format on */

/* their Krum averages the N-f best */
PLOT_FN const learner *learner_of(int i, int authors) {
    static const learner krum = {"Krum", AGG_MULTI_KRUM, 0, 0};
    return authors && learners[i].rule == AGG_KRUM ? &krum : &learners[i];
}

/* What was chosen, and why:
   - ridge baseline and the causal form of B u: the same expectation with far less noise. Not in the
     paper.
   - discount: the lower, the less noise; too low, and the far side of a trajectory no longer
     counts.
   - gamma falls: a normalised step does not get shorter near the top by itself.
   - flat, clip, soft, NNM before every rule: 1 bad run in 360 where there were 13. No single one of
     them makes the difference, see ablation.c. reuse, with both trajectories of a round for g and
     for v: 1 in 810. Not on InvertedPendulum, where CWTM then falls again under random action.
   - InvertedPendulum: eta and gamma lower, as Krum follows the random actors unless the honest
     vectors are close to each other. log-std stays at -0.5 or above: with less noise in the actions
     nothing is found. Steps beyond 300 would weigh below 0.985^300 = 1 %. */
typedef struct recipe_row {
    size_t hidden, horizon;
    double discount, eta, gamma, gamma_end;
    size_t gamma_rounds;
    double clip;
    int reuse;
} recipe_row;

static const recipe_row cartpole_row = {32, 500, 0.995, 0.3, 0.08, 0, 200, 0.25, 1};
static const recipe_row pendulum_row = {64, 300, 0.985, 0.2, 0.02, 0, 400, 0.25, 0};

PLOT_FN recipe recipe_of(const recipe_row *row, size_t obs, size_t outputs, const learner *l) {
    recipe r;
    memset(&r, 0, sizeof r);
    r.net = rn_make_net_desc(obs, outputs);
    r.net.hidden[0] = r.net.hidden[1] = row->hidden;
    r.method.horizon = row->horizon;
    r.method.discount = row->discount;
    r.method.baseline = RN_BASELINE_RIDGE;
    r.method.causal = 1;
    r.method.flat = 1;
    r.method.clip = row->clip;
    r.method.no_hessian = l->no_hessian;
    r.method.reuse = row->reuse && !l->no_hessian;
    r.method.batch = row->reuse || l->no_hessian ? 2 : 1; /* as many trajectories a round */
    r.eta = l->no_memory ? 1 : row->eta;
    r.gamma = rn_schedule_linear(row->gamma, row->gamma_end, row->gamma_rounds);
    r.soft = 1;
    r.pre[0] = AGG_PRE_NNM;
    return r;
}

/* what a stored result depends on */
PLOT_FN void recipe_text(char *text, size_t size) {
    const recipe_row *row[TASKS] = {&cartpole_row, &pendulum_row};
    size_t n = 0;
    for (int t = 0; t < TASKS && n < size; t++)
        n += (size_t)snprintf(text + n, size - n, "%s%d %d %g %g %g %g %d %g %d", t ? "; " : "",
                              (int)row[t]->hidden, (int)row[t]->horizon, row[t]->discount,
                              row[t]->eta, row[t]->gamma, row[t]->gamma_end,
                              (int)row[t]->gamma_rounds, row[t]->clip, row[t]->reuse);
}

PLOT_FN recipe cartpole_recipe(const task *k, const learner *l) {
    (void)k;
    return recipe_of(&cartpole_row, 4, 2, l);
}

PLOT_FN recipe pendulum_recipe(const task *k, const learner *l) {
    recipe r = recipe_of(&pendulum_row, 4, 1, l);
    (void)k;
    r.net.gaussian = 1;
    r.net.log_std = r.net.log_std_min = -0.5;
    r.net.log_std_max = 2;
    return r;
}

/* The settings of the authors' code: no recursion, Adam, whitened returns, a vanilla PG with more
   trajectories a round and another step size. Left out: its faults in "random action", Krum's
   neighbours and MeaMed; only the heads of its Gaussian policy have no biases, here no layer has
   any. */
PLOT_FN recipe authors_recipe(const learner *l, size_t outputs, double discount, double rate) {
    recipe r;
    memset(&r, 0, sizeof r);
    r.net = rn_make_net_desc(4, outputs);
    r.net.tanh_head = 1;
    r.net.out_scale = 1;
    r.method.horizon = 500;
    r.method.discount = discount;
    r.method.whiten = 1;
    r.method.no_memory = 1;
    r.method.no_hessian = l->no_hessian;
    r.eta = l->no_memory ? 1 : 0.99;
    r.update = l->no_memory ? RN_UPDATE_ADAM : RN_UPDATE_ADAM_NORMALISED;
    r.gamma = rn_schedule_constant(rate);
    return r;
}

PLOT_FN recipe cartpole_authors(const task *k, const learner *l) {
    recipe r = authors_recipe(l, 2, 0.999, l->no_memory ? 1e-3 : 5e-3);
    (void)k;
    r.net.hidden[0] = r.net.hidden[1] = 16;
    r.net.activation = RN_RELU;
    if (l->no_memory) r.method.batch = 16;
    return r;
}

PLOT_FN recipe pendulum_authors(const task *k, const learner *l) {
    recipe r = authors_recipe(l, 1, 0.995, l->no_memory ? 8e-5 : 5e-4);
    (void)k;
    r.net.hidden[0] = r.net.hidden[1] = 64;
    r.net.gaussian = r.net.state_std = r.net.no_bias = 1;
    r.net.log_std_min = -20;
    r.net.log_std_max = -2;
    if (l->no_memory) r.method.batch = 48;
    return r;
}

PLOT_FN rn_env cartpole_make(const task *k, void *state) {
    (void)k;
    return cartpole_env((cartpole *)state);
}

PLOT_FN rn_env pendulum_make(const task *k, void *state) {
    (void)k;
    return inverted_pendulum_env((inverted_pendulum *)state);
}

/* clang-format off */
static const task tasks[2][TASKS] = { /* our recipes, the authors' */
    {{"CartPole", sizeof(cartpole), cartpole_make, cartpole_recipe, 500, 500},
     {"InvertedPendulum", sizeof(inverted_pendulum), pendulum_make, pendulum_recipe, 1000, 1000}},
    {{"CartPole", sizeof(cartpole), cartpole_make, cartpole_authors, 500, 500},
     {"InvertedPendulum", sizeof(inverted_pendulum), pendulum_make, pendulum_authors, 1000, 1000}}};

/* clang-format on */

/* what a run that ends well has in each of its last evaluations */
static const double good_return[TASKS] = {475, 990};

#endif /* TASKS_H */
