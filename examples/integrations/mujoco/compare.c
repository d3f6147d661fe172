/* The real MuJoCo beside examples/envs/planar.h: thousands of random states of our own making, one physics step and one
   control step of each from the same state, the worst difference of any position and speed. Then the environments: the
   same actions for both, from the same start. Exits with 1 if a difference is above its bound.

   Build and run: make mujoco          usage: compare [states] [seed]          (4000, 1) */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "mujoco_env.h"
#include "tests/planar_models.h"
#include <math.h>

static const double PHYSICS_BOUND = 1e-12, CONTROL_BOUND = 1e-11;

static double between(const agg_rng *rng, double low, double high) { return low + (high - low) * rn_uniform(rng); }
static double worse(double a, double b) { return a >= b ? a : b; /* NaN as b wins */ }
static double difference(const double *got, const double *expected, int n) {
    double most = 0;
    for (int i = 0; i < n; i++) most = worse(most, fabs(got[i] - expected[i]) / fmax(1, fabs(expected[i])));
    return most;
}

/* ---- random states: thrown anywhere, then some random control steps, so that bodies lie, slide and fold too */
typedef struct world {
    const planar_model *model;
    planar_engine      *physics;
    int                 v2;
    mujoco              engine;
    double              q[PLANAR_JOINTS], v[PLANAR_JOINTS], ctrl[PLANAR_JOINTS];
    int                 left; /* steps before it is thrown again */
} world;

static void random_control(world *w, const agg_rng *rng) {
    for (int i = 0; i < w->engine.model->nu; i++) w->ctrl[i] = between(rng, -1.2, 1.2) * w->model->ctrl;
}
static void throw_again(world *w, const agg_rng *rng) {
    const double speed = rn_uniform(rng) < 0.5 ? 0.1 : 5;
    for (int i = 0; i < w->model->joints; i++) {
        const planar_joint *j = &w->model->joint[i];
        const double past = 0.05 * (j->high - j->low), reach = j->kind == PLANAR_HINGE ? 3 : 0.5;
        w->q[i] = j->low < j->high ? between(rng, j->low - past, j->high + past) : j->start + between(rng, -reach, reach);
        w->v[i] = between(rng, -speed, speed);
    }
    w->left = (int)rn_below(rng, 100);
}
static void next_state(world *w, const agg_rng *rng) {
    if (w->left-- == 0) throw_again(w, rng);
    random_control(w, rng);
    mujoco_set(&w->engine, w->q, w->v);
    mujoco_steps(&w->engine, 1 + (int)rn_below(rng, (size_t)w->model->frame_skip), w->ctrl, w->q, w->v);
    random_control(w, rng);
}

/* capsules whose middle lines cross: MuJoCo then pushes along the rounding error of a zero, which nobody can match */
static int crossing(const mujoco *e) {
    for (int i = 0; i < e->data->ncon; i++) {
        const mjContact *c = &e->data->contact[i];
        const double *size = e->model->geom_size;
        if (c->geom1 > 0 && c->dist + size[3 * c->geom1] + size[3 * c->geom2] < 1e-9) return 1;
    }
    return 0;
}

typedef struct tally { double physics, control; int ground, pairs, stops, free, crossing; } tally;

static double compare_steps(world *w, int steps, planar_work *k, int *crossed) {
    const int n = w->model->joints;
    double q[PLANAR_JOINTS], v[PLANAR_JOINTS], mq[PLANAR_JOINTS], mv[PLANAR_JOINTS];
    memcpy(q, w->q, sizeof q);
    memcpy(v, w->v, sizeof v);
    planar_guess(k);
    mujoco_set(&w->engine, w->q, w->v);
    for (int i = 0; i < steps; i++) {
        w->physics(w->v2, q, v, w->ctrl, k);
        mujoco_steps(&w->engine, 1, w->ctrl, mq, mv);
        *crossed |= crossing(&w->engine);
    }
    return worse(difference(q, mq, n), difference(v, mv, n));
}
static void compare_state(world *w, tally *t) {
    planar_work k;
    int crossed = 0;
    const double control = compare_steps(w, w->model->frame_skip, &k, &crossed);
    const double one = compare_steps(w, 1, &k, &crossed);
    t->crossing += crossed;
    if (crossed) return;
    t->control = worse(t->control, control);
    t->physics = worse(t->physics, one);
    t->ground += k.contacts;
    t->pairs += k.touches;
    t->stops += k.stops;
    t->free += k.contacts + k.touches + k.stops == 0;
}
static int compare_model(const planar_model *m, planar_engine *physics, int v2, int states, uint64_t seed) {
    static world w;
    rn_random   source = rn_random_make(seed, 0);
    const agg_rng rng = rn_random_rng(&source);
    tally t = {0, 0, 0, 0, 0, 0, 0};
    char  why[1000];
    int   fine;
    w.model = m;
    w.physics = physics;
    w.v2 = v2;
    w.left = 0;
    if (!mujoco_open(&w.engine, m, v2, why, sizeof why)) {
        printf("%s: %s\n", m->name, why);
        return 0;
    }
    for (int i = 0; i < states; i++) {
        next_state(&w, &rng);
        compare_state(&w, &t);
    }
    mujoco_close(&w.engine);
    fine = t.physics <= PHYSICS_BOUND && t.control <= CONTROL_BOUND;
    printf("%-24s %-3s %8.1e %8.1e %8d %6d %6d %6d %8d  %s\n", m->name, v2 ? "v2" : "", t.physics, t.control, t.ground,
           t.pairs, t.stops, t.free, t.crossing, fine ? "holds" : "MISSED");
    return fine;
}

/* ---- the environments: both start alike and get the same actions; they part slowly, as far as the task amplifies
   rounding, so that only the first steps of each episode are compared */
static int compare_envs(const char *name, rn_env ours, rn_env theirs, uint64_t seed) {
    enum { EPISODES = 200, STEPS = 5, MOST = 32 };
    rn_random a = rn_random_make(seed, 1), b = a, c = rn_random_make(seed, 2);
    const agg_rng draw = rn_random_rng(&a), again = rn_random_rng(&b), dice = rn_random_rng(&c);
    double most = 0;
    int    fine = 1;
    for (int e = 0; e < EPISODES; e++) {
        rn_real obs[2][MOST], act[MOST];
        double  reward[2];
        ours.reset(ours.self, &draw, obs[0]);
        theirs.reset(theirs.self, &again, obs[1]);
        for (int s = 0; s < STEPS; s++) {
            for (size_t i = 0; i < ours.act_dim; i++)
                act[i] = (rn_real)between(&dice, 1.2 * ours.act_low, 1.2 * ours.act_high);
            const rn_result r = ours.step(ours.self, act, &draw, obs[0], &reward[0]);
            if (theirs.step(theirs.self, act, &again, obs[1], &reward[1]) != r) fine = 0;
            most = worse(most, difference(&reward[0], &reward[1], 1));
            for (size_t i = 0; i < ours.obs_dim; i++) {
                const double x = (double)obs[0][i], y = (double)obs[1][i];
                most = worse(most, difference(&x, &y, 1));
            }
            if (r != RN_RUNNING) break;
        }
    }
    fine = fine && most <= 1e-6; /* observations may be floats */
    printf("%-28s %8.1e  %s\n", name, most, fine ? "holds" : "MISSED");
    return fine;
}
#define COMPARE_ENVS(task)                                                                     \
    do {                                                                                       \
        static task          ours;                                                             \
        static mujoco_##task theirs;                                                           \
        rn_env               env;                                                              \
        char                 why[1000];                                                        \
        if (mujoco_##task##_env(&theirs, &env, why, sizeof why)) {                             \
            fine &= compare_envs(#task, task##_env(&ours), env, seed);                         \
            mujoco_close(&theirs.engine);                                                      \
        } else {                                                                               \
            printf("%s: %s\n", #task, why);                                                    \
            fine = 0;                                                                          \
        }                                                                                      \
    } while (0)

int main(int argc, char **argv) {
    const int      states = argc > 1 ? atoi(argv[1]) : 4000;
    const uint64_t seed = argc > 2 ? (uint64_t)strtoull(argv[2], NULL, 10) : 1;
    int fine = 1;
    printf("MuJoCo %s beside planar.h: %d states of each model; worst difference, |x - y| / max(1, |y|)\n",
           mj_versionString(), states);
    printf("model                   masses physics  control   ground  pairs  stops   free crossing  (bounds %.0e, %.0e)\n",
           PHYSICS_BOUND, CONTROL_BOUND);
    for (int v2 = 0; v2 < 2; v2++) {
        fine &= compare_model(&inverted_pendulum_model, inverted_pendulum_physics, v2, states, seed);
        fine &= compare_model(&inverted_double_pendulum_model, inverted_double_pendulum_physics, v2, states, seed);
        fine &= compare_model(&hopper_model, hopper_physics, v2, states, seed);
        fine &= compare_model(&walker2d_model, walker2d_physics, v2, states, seed);
        fine &= compare_model(&half_cheetah_model, half_cheetah_physics, v2, states, seed);
    }
    fine &= compare_model(&plank_model, plank_physics, 0, states, seed); /* no tasks, but what else planar.h can do */
    fine &= compare_model(&contraption_model, contraption_physics, 0, states, seed);
    fine &= compare_model(&contraption_euler_model, contraption_euler_physics, 0, states, seed);
    printf("environments: rewards and observations of 5 steps from 200 starts\n");
    COMPARE_ENVS(inverted_pendulum);
    COMPARE_ENVS(inverted_double_pendulum);
    COMPARE_ENVS(hopper);
    COMPARE_ENVS(walker2d);
    COMPARE_ENVS(half_cheetah);
    return fine ? 0 : 1;
}
