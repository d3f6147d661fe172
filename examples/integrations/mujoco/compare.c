/* The real MuJoCo beside examples/envs/planar.h: thousands of random states of our own making, one
   physics step and one control step of each from the same state, the worst difference of any
   position and speed. Then the environments: the same actions for both, from the same start. Exits
   with 1 if a difference is above its bound.

   In rare states MuJoCo's answer hangs on the last bit of what it is given: two capsules whose
   middle lines cross are pushed along the rounding error of a zero, and some states amplify
   rounding a thousandfold. A difference above its bound is excused if MuJoCo differs from itself by
   as much when the state moves in its last bits, and only then: each is shown to hang on rounding,
   whatever their number. They seem to come in clusters, as long as a fold or a fall lasts: none in
   most runs, up to 7 of 4000 in one (hopper 7 with one seed, 0 with four others; the contraption 1
   to 7). More than 1 in 500 are a miss: that many would be a habit.

   Build and run: make mujoco          usage: compare [states] [seed]          (4000, 1) */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "mujoco_env.h"
#include "tests/planar_models.h"
#include <float.h>
#include <math.h>

static const double PHYSICS_BOUND = 1e-12, CONTROL_BOUND = 1e-11;

enum { EXCUSED = 500 }; /* 1 of so many states, at most */

static double between(const agg_rng *rng, double low, double high) {
    return low + (high - low) * rn_draw_uniform(rng);
}

static double worse(double a, double b) { return a >= b ? a : b; /* NaN as b wins */ }

static double difference(const double *got, const double *expected, int n) {
    double most = 0;
    for (int i = 0; i < n; i++)
        most = worse(most, fabs(got[i] - expected[i]) / fmax(1, fabs(expected[i])));
    return most;
}

/* ---- random states: thrown anywhere, then some random control steps, so that bodies lie, slide
   and fold too */
typedef struct world {
    const planar_model *model;
    planar_engine *physics;
    int v2;
    mujoco engine;
    double state[2 * PLANAR_JOINTS], ctrl[PLANAR_JOINTS]; /* positions, then speeds */
    int left;                                             /* steps before it is thrown again */
} world;

/* positions and speeds some physics steps later */
static void ours(const world *w, int steps, double *to, planar_work *k) {
    const int n = w->model->joints;
    memcpy(to, w->state, sizeof w->state);
    planar_guess(k);
    for (int i = 0; i < steps; i++) w->physics(w->v2, to, to + n, w->ctrl, k);
}

static void theirs(world *w, const double *from, int steps, double *to) {
    const int n = w->model->joints;
    mujoco_set(&w->engine, from, from + n);
    mujoco_steps(&w->engine, steps, w->ctrl, to, to + n);
}

static void random_control(world *w, const agg_rng *rng) {
    for (int i = 0; i < w->engine.model->nu; i++)
        w->ctrl[i] = between(rng, -1.2, 1.2) * w->model->ctrl;
}

static void throw_again(world *w, const agg_rng *rng) {
    double *q = w->state, *v = q + w->model->joints;
    const double speed = rn_draw_uniform(rng) < 0.5 ? 0.1 : 5;
    for (int i = 0; i < w->model->joints; i++) {
        const planar_joint *j = &w->model->joint[i];
        const double past = 0.05 * (j->high - j->low), reach = j->kind == PLANAR_HINGE ? 3 : 0.5;
        q[i] = j->low < j->high ? between(rng, j->low - past, j->high + past)
                                : j->start + between(rng, -reach, reach);
        v[i] = between(rng, -speed, speed);
    }
    w->left = (int)rn_draw_below(rng, 100);
}

static void next_state(world *w, const agg_rng *rng) {
    if (w->left-- == 0) throw_again(w, rng);
    random_control(w, rng);
    theirs(w, w->state, 1 + (int)rn_draw_below(rng, (size_t)w->model->frame_skip), w->state);
    random_control(w, rng);
}

/* how far apart MuJoCo's own answers, `answer` among them, are when every number of the state moves
   in its last two bits */
static double own_spread(world *w, int steps, const double *answer) {
    enum { TIMES = 100 };

    const int n = 2 * w->model->joints;
    rn_random source = rn_make_random(1, 3);
    const agg_rng rng = rn_random_rng(&source);
    double from[2 * PLANAR_JOINTS], to[2 * PLANAR_JOINTS], low[2 * PLANAR_JOINTS],
        high[2 * PLANAR_JOINTS], most = 0;
    for (int i = 0; i < n; i++) low[i] = high[i] = answer[i];
    for (int time = 0; time < TIMES; time++) {
        for (int i = 0; i < n; i++)
            from[i] = w->state[i] + w->state[i] * between(&rng, -2, 2) * DBL_EPSILON;
        theirs(w, from, steps, to);
        for (int i = 0; i < n; i++) {
            low[i] = fmin(low[i], to[i]);
            high[i] = fmax(high[i], to[i]);
        }
    }
    for (int i = 0; i < n; i++) most = fmax(most, (high[i] - low[i]) / fmax(1, fabs(answer[i])));
    return most;
}

typedef struct tally {
    double physics, control;
    int ground, pairs, stops, free, excused;
} tally;

/* 0: excused */
static int compare_steps(world *w, int steps, double bound, double *most, planar_work *k) {
    double a[2 * PLANAR_JOINTS], b[2 * PLANAR_JOINTS], apart;
    ours(w, steps, a, k);
    theirs(w, w->state, steps, b);
    apart = difference(a, b, 2 * w->model->joints);
    if (apart > bound && apart <= own_spread(w, steps, b)) return 0;
    *most = worse(*most, apart);
    return 1;
}

static void compare_state(world *w, tally *t) {
    planar_work k;
    const int control = compare_steps(w, w->model->frame_skip, CONTROL_BOUND, &t->control, &k);
    const int physics = compare_steps(w, 1, PHYSICS_BOUND, &t->physics, &k);
    t->excused += !(control && physics);
    t->ground += k.contacts;
    t->pairs += k.touches;
    t->stops += k.stops;
    t->free += k.contacts + k.touches + k.stops == 0;
}

static int compare_model(const planar_model *m, planar_engine *physics, int v2, int states,
                         uint64_t seed) {
    static world w;
    rn_random source = rn_make_random(seed, 0);
    const agg_rng rng = rn_random_rng(&source);
    tally t = {0, 0, 0, 0, 0, 0, 0};
    char why[1000];
    int fine;
    w.model = m;
    w.physics = physics;
    w.v2 = v2;
    w.left = 0;
    if (!mujoco_open(&w.engine, m, v2, why, sizeof why)) {
        printf("%s: %s\n", m->name, why);
        return 0;
    }
    /* the solver ends at the minimum; by default it may end 4e-11 before */
    w.engine.model->opt.tolerance = 1e-30;
    for (int i = 0; i < states; i++) {
        next_state(&w, &rng);
        compare_state(&w, &t);
    }
    mujoco_close(&w.engine);
    fine =
        t.physics <= PHYSICS_BOUND && t.control <= CONTROL_BOUND && EXCUSED * t.excused <= states;
    printf("%-24s %-3s %8.1e %8.1e %8d %6d %6d %6d %7d  %s\n", m->name, v2 ? "v2" : "", t.physics,
           t.control, t.ground, t.pairs, t.stops, t.free, t.excused, fine ? "holds" : "MISSED");
    return fine;
}

/* ---- the environments: both start alike and get the same actions; they part slowly, as far as the
   task amplifies rounding, so that only the first steps of each trajectory are compared */
static int compare_trajectories(rn_env ours, rn_env theirs, uint64_t seed, double *most) {
    enum { TRAJECTORIES = 200, STEPS = 5, MOST = 32 };

    rn_random a = rn_make_random(seed, 1), b = a, c = rn_make_random(seed, 2);
    const agg_rng draw = rn_random_rng(&a), again = rn_random_rng(&b), dice = rn_random_rng(&c);
    int same_ends = 1;
    for (int e = 0; e < TRAJECTORIES; e++) {
        rn_real obs[2][MOST], act[MOST];
        double reward[2];
        ours.reset(ours.self, &draw, obs[0]);
        theirs.reset(theirs.self, &again, obs[1]);
        for (int s = 0; s < STEPS; s++) {
            for (size_t i = 0; i < ours.act_dim; i++)
                act[i] = (rn_real)between(&dice, 1.2 * ours.act_low, 1.2 * ours.act_high);
            const rn_step_result r = ours.step(ours.self, act, &draw, obs[0], &reward[0]);
            if (theirs.step(theirs.self, act, &again, obs[1], &reward[1]) != r) same_ends = 0;
            *most = worse(*most, difference(&reward[0], &reward[1], 1));
            for (size_t i = 0; i < ours.obs_dim; i++) {
                const double x = (double)obs[0][i], y = (double)obs[1][i];
                *most = worse(*most, difference(&x, &y, 1));
            }
            if (r != RN_RUNNING) break;
        }
    }
    return same_ends;
}

static int compare_env(rn_env (*make)(planar_body *), uint64_t seed) {
    static planar_body ours;
    static mujoco_body theirs;
    const rn_env env = make(&ours);
    rn_env real;
    char why[1000];
    double most = 0;
    int fine;
    if (!mujoco_env(&theirs, make(&theirs.body), &real, why, sizeof why)) {
        printf("%s: %s\n", ours.task->model->name, why);
        return 0;
    }
    fine = compare_trajectories(env, real, seed, &most);
    fine = fine && most <= 1e-6; /* observations may be floats */
    printf("%-28s %8.1e  %s\n", ours.task->model->name, most, fine ? "holds" : "MISSED");
    mujoco_close(&theirs.engine);
    return fine;
}

int main(int argc, char **argv) {
    const int states = argc > 1 ? atoi(argv[1]) : 4000;
    const uint64_t seed = argc > 2 ? (uint64_t)strtoull(argv[2], NULL, 10) : 1;
    int fine = 1;
    printf("MuJoCo %s beside planar.h: %d states of each model; worst difference, |x - y| / max(1, "
           "|y|)\n",
           mj_versionString(), states);
    printf("model                   masses physics  control   ground  pairs  stops   free excused  "
           "(bounds %.0e, %.0e)\n",
           PHYSICS_BOUND, CONTROL_BOUND);
    for (int v2 = 0; v2 < 2; v2++) {
        fine &=
            compare_model(&inverted_pendulum_model, inverted_pendulum_physics, v2, states, seed);
        fine &= compare_model(&inverted_double_pendulum_model, inverted_double_pendulum_physics, v2,
                              states, seed);
        fine &= compare_model(&hopper_model, hopper_physics, v2, states, seed);
        fine &= compare_model(&walker2d_model, walker2d_physics, v2, states, seed);
        fine &= compare_model(&half_cheetah_model, half_cheetah_physics, v2, states, seed);
    }
    /* no tasks, but what else planar.h can do */
    fine &= compare_model(&plank_model, plank_physics, 0, states, seed);
    fine &= compare_model(&contraption_model, contraption_physics, 0, states, seed);
    fine &= compare_model(&contraption_euler_model, contraption_euler_physics, 0, states, seed);
    printf("environments: rewards and observations of 5 steps from 200 starts\n");
    fine &= compare_env(inverted_pendulum_env, seed);
    fine &= compare_env(inverted_double_pendulum_env, seed);
    fine &= compare_env(hopper_env, seed);
    fine &= compare_env(walker2d_env, seed);
    fine &= compare_env(half_cheetah_env, seed);
    return fine ? 0 : 1;
}
