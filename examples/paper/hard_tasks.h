/* hard_tasks.h - what figure2, figure3 and baselines train: HalfCheetah, Hopper,
   InvertedDoublePendulum and Walker2d, the last a second time with longer trajectories. The recipes
   stand in one table below: one per task. Call hard_measure() of a task before its first trial. */
#ifndef HARD_TASKS_H
#define HARD_TASKS_H
#include "trials.h"
#include "../envs/half_cheetah.h"
#include "../envs/hopper.h"
#include "../envs/inverted_double_pendulum.h"
#include "../envs/walker2d.h"

/* FAR_WALKER: with longer trajectories */
enum { HALF_CHEETAH, HOPPER, DOUBLE_PENDULUM, WALKER, FAR_WALKER, HARD_TASKS };
enum { HARD_MAX_OBS = 17, UNIT_TRAJECTORIES = 100, UNIT_STEPS = 250 };

/* What was chosen, and why. One recipe a task, the same for all lines; ridge baseline, causal form
   of B u, steps of length gamma that fall linearly to 0, as in figure 1. Chosen by MDA's runs on
   seeds 1 to 5, one to three of them a choice: differences smaller than those between seeds were
   not seen.
   - horizon: 250 steps a trajectory in training, as the authors have it; 1000 in evaluations.
   - discount: as low as the task allows, for less noise. Legs that fall too early need a long view.
   - log-std stays at its start or above: wide to find a gait, narrow to balance.
   - batch: trajectories per estimate. clip: of the Hessian term, which is the noisiest part of the
     estimate.
   - Walker2d gets 1 for each step that it does not fall. It learns to stay up as long as it is
     watched: of some sixty recipes with 250 steps single runs end near 1000, none of the recipes
     has more than 600 on average; most runs lean forward and fall soon after. FAR_WALKER is watched
     as long as the evaluation is. */
typedef struct hard_row {
    size_t hidden[2], batch, horizon;
    double discount, log_std, eta, clip, gamma;
    size_t trajectories, quick; /* per agent; with --quick */
} hard_row;

/* clang-format off */
static const hard_row hard_rows[HARD_TASKS] = {
    {{32, 32}, 1, 250,  0.985, -0.5, 0.3, 0, 0.03,  1800, 400},  /* HalfCheetah */
    {{32, 32}, 1, 250,  0.995, -0.5, 0.3, 0, 0.02,  1800, 400},  /* Hopper */
    {{64, 0},  1, 250,  0.97,  -1.5, 0.3, 0, 0.015, 6000, 2000}, /* InvertedDoublePendulum */
    {{0, 0},   4, 250,  0.999, -2,   0.8, 1, 0.04,  1800, 400},  /* Walker2d */
    {{0, 0},   4, 1000, 0.999, -2,   0.8, 1, 0.04,  1800, 400}}; /* FAR_WALKER */
/* clang-format on */

/* ---- the tasks, in units of their own: an observation less its mean, by its deviation, both under
   random actions. All agents know them before they start. Numbers that stay the same there (forces
   of the rail) are divided by 10. */
typedef struct hard_scaled {
    rn_env task;
    int index;
    planar_body body;
} hard_scaled;

typedef struct hard_units {
    double mean[HARD_MAX_OBS], scale[HARD_MAX_OBS];
} hard_units;

static hard_units hard_unit[HARD_TASKS];

PLOT_FN rn_env hard_raw_env(int index, planar_body *b) {
    switch (index) {
    case HALF_CHEETAH: return half_cheetah_env(b);
    case HOPPER: return hopper_env(b);
    case DOUBLE_PENDULUM: return inverted_double_pendulum_env(b);
    default: return walker2d_env(b);
    }
}

/* the first policy's actions have mean 0, or nearly */
PLOT_FN void hard_measure(int index) {
    static planar_body body;
    const rn_env e = hard_raw_env(index, &body);
    rn_random random = rn_make_random(5, 1);
    const agg_rng rng = rn_random_rng(&random);
    double sum[HARD_MAX_OBS] = {0}, squares[HARD_MAX_OBS] = {0}, n = 0, reward;
    rn_real obs[HARD_MAX_OBS], act[HARD_MAX_OBS];
    for (int k = 0; k < UNIT_TRAJECTORIES; k++) {
        rn_step_result r = RN_RUNNING;
        e.reset(e.self, &rng, obs);
        for (int step = 0; step < UNIT_STEPS && r == RN_RUNNING; step++, n++) {
            for (size_t i = 0; i < e.act_dim; i++)
                act[i] = (rn_real)(exp(hard_rows[index].log_std) * rn_draw_normal(&rng));
            r = e.step(e.self, act, &rng, obs, &reward);
            for (size_t i = 0; i < e.obs_dim; i++) {
                sum[i] += (double)obs[i];
                squares[i] += (double)obs[i] * (double)obs[i];
            }
        }
    }
    for (size_t i = 0; i < e.obs_dim; i++) {
        const double mean = sum[i] / n, deviation = sqrt(fmax(0, squares[i] / n - mean * mean));
        hard_unit[index].mean[i] = mean;
        hard_unit[index].scale[i] = deviation < 1e-6 ? 0.1 : 1 / deviation;
    }
}

PLOT_FN void hard_to_units(const hard_scaled *s, rn_real *obs) {
    const hard_units *u = &hard_unit[s->index];
    for (size_t i = 0; i < s->task.obs_dim; i++)
        obs[i] = (rn_real)(((double)obs[i] - u->mean[i]) * u->scale[i]);
}

PLOT_FN void hard_reset(void *self, const agg_rng *rng, rn_real *obs) {
    hard_scaled *s = (hard_scaled *)self;
    s->task.reset(s->task.self, rng, obs);
    hard_to_units(s, obs);
}

PLOT_FN rn_step_result hard_step(void *self, const rn_real *act, const agg_rng *rng, rn_real *obs,
                                 double *reward) {
    hard_scaled *s = (hard_scaled *)self;
    const rn_step_result r = s->task.step(s->task.self, act, rng, obs, reward);
    hard_to_units(s, obs);
    return r;
}

static const task hard_tasks[HARD_TASKS];

PLOT_FN rn_env hard_env(const task *k, void *state) {
    hard_scaled *s = (hard_scaled *)state;
    rn_env e;
    s->index = (int)(k - hard_tasks);
    e = s->task = hard_raw_env(s->index, &s->body);
    e.self = s;
    e.reset = hard_reset;
    e.step = hard_step;
    e.state_size = 0;
    e.save = NULL;
    e.load = NULL;
    return e;
}

/* gamma's rounds: see plan */
PLOT_FN recipe hard_recipe(const task *k, const learner *l) {
    const hard_row *row = &hard_rows[k - hard_tasks];
    planar_body body;
    const rn_env e = hard_raw_env((int)(k - hard_tasks), &body);
    recipe r;
    memset(&r, 0, sizeof r);
    r.net = rn_make_net_desc(e.obs_dim, e.act_dim);
    r.net.hidden[0] = row->hidden[0];
    r.net.hidden[1] = row->hidden[1];
    r.net.gaussian = 1;
    r.net.log_std = r.net.log_std_min = row->log_std;
    r.net.log_std_max = 2;
    r.method.horizon = row->horizon;
    r.method.discount = row->discount;
    r.method.baseline = RN_BASELINE_RIDGE;
    r.method.causal = 1;
    r.method.clip = row->clip;
    r.method.no_hessian = l->no_hessian;
    r.method.batch =
        row->batch * (l->no_hessian ? 2 : 1); /* matched: as many trajectories a round */
    r.eta = l->no_memory ? 1 : row->eta;
    r.gamma = rn_schedule_linear(row->gamma, 0, 1);
    return r;
}

static const task hard_tasks[HARD_TASKS] = {
    {"HalfCheetah", sizeof(hard_scaled), hard_env, hard_recipe, 1000, 0},
    {"Hopper", sizeof(hard_scaled), hard_env, hard_recipe, 1000, 0},
    {"InvertedDoublePendulum", sizeof(hard_scaled), hard_env, hard_recipe, 1000, 0},
    {"Walker2d", sizeof(hard_scaled), hard_env, hard_recipe, 1000, 0},
    {"Walker2d, long trajectories", sizeof(hard_scaled), hard_env, hard_recipe, 1000, 0}};

/* what a stored result depends on */
PLOT_FN void hard_settings(char *text, size_t size) {
    size_t n = 0;
    for (int t = 0; t < HARD_TASKS && n < size; t++) {
        const hard_row *r = &hard_rows[t];
        n += (size_t)snprintf(text + n, size - n, "%s%d %d %d %d %g %g %g %g %g", t ? "; " : "",
                              (int)r->hidden[0], (int)r->hidden[1], (int)r->batch, (int)r->horizon,
                              r->discount, r->log_std, r->eta, r->clip, r->gamma);
    }
}
#endif /* HARD_TASKS_H */
