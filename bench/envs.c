/* How fast are the environments of examples/envs/? Control steps a second with random actions and
   resets, one thread.
   1. The five of planar.h beside the real MuJoCo, if it is installed: the same models (MuJoCo loads
      what they print), the same actions, the same rules. Target: ten times as fast, at plain -O2;
      HalfCheetah, whose margin was the thinnest, fourteen.
   2. What a physics step of planar.h spends on what.
   3. CartPole beside a plain one with the C library's sin and cos.
   Others use the machine too: contenders take turns, the thread is timed by its own clock, the
   least time counts.
   usage: envs          BENCH_QUICK=1: shorter */
#include "bench.h" /* first: it asks POSIX for the clock, and for open_memstream() */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "../examples/envs/cartpole.h"
#if defined(__has_include)
#if __has_include(<mujoco/mujoco.h>)
#define HAVE_MUJOCO 1
#endif
#endif
#ifdef HAVE_MUJOCO
#include "../examples/integrations/mujoco/mujoco_env.h"
#else
#include "../examples/envs/half_cheetah.h"
#include "../examples/envs/hopper.h"
#include "../examples/envs/inverted_double_pendulum.h"
#include "../examples/envs/inverted_pendulum.h"
#include "../examples/envs/walker2d.h"
#endif

enum { MAX_OBS = 32, MAX_ACT = 8, HORIZON = 1000, TABLE = 4096 };

static volatile double bench_result; /* so that nothing is left out as unused */

/* ---- one environment, played by chance; actions come from a table, so that making them costs
   nobody anything */
typedef struct player {
    rn_env env;
    rn_random random;
    rn_real obs[MAX_OBS];
    int length;
    size_t at;
    bench_stat times; /* seconds of one control step */
} player;

static rn_real action_table[TABLE + MAX_ACT];

static void make_actions(void) {
    uint64_t state = 1;
    for (int i = 0; i < TABLE + MAX_ACT; i++)
        action_table[i] = (rn_real)(2 * bench_uniform(&state) - 1);
}

static void play(player *p, int steps) {
    const agg_rng rng = rn_random_rng(&p->random);
    double reward, sum = 0;
    for (int i = 0; i < steps; i++) {
        rn_step_result r;
        if (p->length == 0) p->env.reset(p->env.self, &rng, p->obs);
        r = p->env.step(p->env.self, action_table + p->at, &rng, p->obs, &reward);
        p->at = (p->at + p->env.act_dim) % TABLE;
        p->length = r == RN_RUNNING && p->length + 1 < HORIZON ? p->length + 1 : 0;
        sum += reward;
    }
    bench_result = sum;
}

static void time_play(player *p, int steps) {
    const double start = bench_cpu();
    play(p, steps);
    bench_add(&p->times, (bench_cpu() - start) / steps);
}

static player player_make(rn_env env) {
    player p;
    memset(&p, 0, sizeof p);
    p.env = env;
    p.random = rn_make_random(1, 0);
    return p;
}

/* ---- 1 beside MuJoCo */
static void print_header(void) {
    printf("\ncontrol steps a second, one thread, random actions with resets\n  %-26s %12s",
           "environment", "ours");
#ifdef HAVE_MUJOCO
    printf(" %12s   ratio (MuJoCo %s)\n", "MuJoCo", mj_versionString());
#else
    printf("   (MuJoCo is not installed: no ratio)\n");
#endif
}

static void print_race(const char *name, const player *ours, const player *theirs) {
    const double us = bench_min(&ours->times), them = theirs ? bench_min(&theirs->times) : 0;
    const double target = strcmp(name, half_cheetah_model.name) == 0 ? 14 : 10;
    printf("  %-26s %12.0f", name, 1 / us);
    if (theirs)
        printf(" %12.0f  %6.1f x, target %.0f %s", 1 / them, them / us, target,
               them / us >= target ? "holds" : "MISSED");
    printf("\n");
}

static void race(rn_env (*make)(planar_body *)) {
    static planar_body body;
    static player ours, theirs;
    player *other = NULL;
    const rn_env env = make(&body);
#ifdef HAVE_MUJOCO
    static mujoco_body real;
    rn_env real_env;
    char why[256];
    if (mujoco_env(&real, make(&real.body), &real_env, why, sizeof why)) {
        theirs = player_make(real_env);
        other = &theirs;
    } else {
        printf("%s\n", why);
    }
#else
    (void)theirs;
#endif
    ours = player_make(env);
    fprintf(stderr, "%s ...\n", body.task->model->name);
    for (int i = 0; i < (bench_quick() ? 5 : 30); i++) {
        time_play(&ours, 10000);
        if (other) time_play(other, 1000);
    }
    print_race(body.task->model->name, &ours, other);
#ifdef HAVE_MUJOCO
    mujoco_close(&real.engine);
#endif
}

/* ---- 2 the parts of an evaluation of accelerations: where and how heavy (dynamics), which rows
   (contacts), the rest (solver) */
enum { STATES = 512 };

typedef struct sample {
    double q[STATES][PLANAR_JOINTS], v[STATES][PLANAR_JOINTS], ctrl[STATES][PLANAR_JOINTS];
} sample;

static void collect(sample *s, player *p, const planar_body *b) {
    for (int i = 0; i < STATES; i++) {
        play(p, 7);
        memcpy(s->q[i], b->q, sizeof b->q);
        memcpy(s->v[i], b->v, sizeof b->v);
        for (size_t a = 0; a < p->env.act_dim; a++) s->ctrl[i][a] = (double)action_table[p->at + a];
    }
}

/* one evaluation of state i: without rows, with them, the whole; of a physics step */
enum { DYNAMICS, CONTACTS, ACCELERATIONS, STEP, PARTS };

typedef void part_fn(int part, sample *s, int i, planar_work *k);

ENV_BEGIN
ENV_INLINE void run_part(const planar_model *m, int part, sample *s, int i, planar_work *k) {
    if (part == ACCELERATIONS) {
        planar_accelerate(m, m->mass[0], s->q[i], s->v[i], s->ctrl[i], k);
        return;
    }
    planar_place(m, s->q[i], s->v[i], k->frame);
    planar_weigh(m, m->mass[0], k);
    planar_drive(m, s->q[i], s->v[i], s->ctrl[i], k->torque);
    if (part == CONTACTS) planar_find_rows(m, m->mass[0], s->q[i], s->v[i], k);
}

static void inverted_pendulum_part(int part, sample *s, int i, planar_work *k) {
    run_part(&inverted_pendulum_model, part, s, i, k);
}

static void inverted_double_pendulum_part(int part, sample *s, int i, planar_work *k) {
    run_part(&inverted_double_pendulum_model, part, s, i, k);
}

static void hopper_part(int part, sample *s, int i, planar_work *k) {
    run_part(&hopper_model, part, s, i, k);
}

static void walker2d_part(int part, sample *s, int i, planar_work *k) {
    run_part(&walker2d_model, part, s, i, k);
}

static void half_cheetah_part(int part, sample *s, int i, planar_work *k) {
    run_part(&half_cheetah_model, part, s, i, k);
}

ENV_END

/* seconds for one state; rounds of the solver */
static double time_part(const planar_task *t, part_fn *fn, int part, sample *s, planar_work *k,
                        double *rounds) {
    const double start = bench_cpu();
    *rounds = 0;
    for (int i = 0; i < STATES; i++) {
        if (part == STEP) {
            double q[PLANAR_JOINTS], v[PLANAR_JOINTS];
            memcpy(q, s->q[i], sizeof q);
            memcpy(v, s->v[i], sizeof v);
            planar_guess(k);
            t->physics(0, q, v, s->ctrl[i], k);
        } else {
            fn(part, s, i, k);
        }
        bench_result = k->inertia[0].wx;
        *rounds += k->rounds;
    }
    *rounds /= STATES;
    return (bench_cpu() - start) / STATES;
}

static void print_parts(const planar_model *m, const bench_stat *t, double rounds) {
    const double dynamics = 1e9 * bench_min(&t[DYNAMICS]), with = 1e9 * bench_min(&t[CONTACTS]);
    const double all = 1e9 * bench_min(&t[ACCELERATIONS]), step = 1e9 * bench_min(&t[STEP]);
    printf("  %-26s %8.0f %8.0f %8.0f %10.2f %12d %10.0f\n", m->name, dynamics, with - dynamics,
           all - with, rounds, m->euler ? 1 : 4, step);
}

static void bench_parts(rn_env env, part_fn *fn) {
    static sample s;
    static player p;
    const planar_body *b = (const planar_body *)env.self;
    bench_stat t[PARTS];
    planar_work k;
    double rounds[PARTS];
    p = player_make(env);
    collect(&s, &p, b);
    memset(t, 0, sizeof t);
    memset(&k, 0, sizeof k);
    planar_guess(&k);
    for (int i = 0; i < (bench_quick() ? 10 : 60); i++)
        for (int part = 0; part < PARTS; part++)
            bench_add(&t[part], time_part(b->task, fn, part, &s, &k, &rounds[part]));
    print_parts(b->task->model, t, rounds[ACCELERATIONS]);
}

/* ---- 3 CartPole as one writes it without further thought */
typedef struct plain_cartpole {
    double x, v, angle, spin;
    int steps;
    uint64_t random;
} plain_cartpole;

static void plain_reset(plain_cartpole *p) {
    double *state[4] = {&p->x, &p->v, &p->angle, &p->spin};
    for (int i = 0; i < 4; i++) *state[i] = 0.1 * bench_uniform(&p->random) - 0.05;
    p->steps = 0;
}

static int plain_step(plain_cartpole *p, int right, float *obs) {
    const double s = sin(p->angle), c = cos(p->angle), force = right ? 10 : -10;
    const double push = (force + 0.05 * p->spin * p->spin * s) / 1.1;
    const double turn = (9.8 * s - c * push) / (0.5 * (4.0 / 3 - 0.1 * c * c / 1.1)),
                 move = push - 0.05 * turn * c / 1.1;
    p->x += 0.02 * p->v;
    p->v += 0.02 * move;
    p->angle += 0.02 * p->spin;
    p->spin += 0.02 * turn;
    p->steps++;
    obs[0] = (float)p->x;
    obs[1] = (float)p->v;
    obs[2] = (float)p->angle;
    obs[3] = (float)p->spin;
    return fabs(p->x) > 2.4 || fabs(p->angle) > 12 * 2 * 3.141592653589793 / 360 || p->steps >= 500;
}

static void bench_cartpole(void) {
    static cartpole pole;
    static player ours;
    plain_cartpole plain;
    bench_stat times;
    const int steps = 100000;
    float obs[4] = {0, 0, 0, 0};
    ours = player_make(cartpole_env(&pole));
    plain.random = 1;
    plain_reset(&plain);
    memset(&times, 0, sizeof times);
    for (int i = 0; i < (bench_quick() ? 10 : 40); i++) {
        double start;
        time_play(&ours, steps);
        start = bench_cpu();
        for (int k = 0; k < steps; k++)
            if (plain_step(&plain, action_table[k % TABLE] > 0, obs)) plain_reset(&plain);
        bench_result = (double)obs[0];
        bench_add(&times, (bench_cpu() - start) / steps);
    }
    printf("\nCartPole: %.1f million steps a second; a plain one with the C library's sin and cos "
           "%.1f: %.2f x, target 1 %s\n",
           1e-6 / bench_min(&ours.times), 1e-6 / bench_min(&times),
           bench_min(&times) / bench_min(&ours.times),
           bench_min(&times) >= bench_min(&ours.times) ? "holds" : "MISSED");
}

int main(int argc, char **argv) {
    static planar_body body;
    if (argc > 1) {
        printf("usage: envs\nTimes the environments of examples/envs. BENCH_QUICK=1: shorter.\n");
        return strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    bench_print_build();
    make_actions();
    print_header();
    fflush(stdout);
    race(inverted_pendulum_env);
    race(inverted_double_pendulum_env);
    race(hopper_env);
    race(walker2d_env);
    race(half_cheetah_env);
    printf("\nnanoseconds of one evaluation by part, rounds of its solver, evaluations in a "
           "physics step, and all of it\n"
           "  %-26s %8s %8s %8s %10s %12s %10s\n",
           "environment", "dynamics", "contacts", "solver", "rounds", "evaluations", "step");
    bench_parts(inverted_pendulum_env(&body), inverted_pendulum_part);
    bench_parts(inverted_double_pendulum_env(&body), inverted_double_pendulum_part);
    bench_parts(hopper_env(&body), hopper_part);
    bench_parts(walker2d_env(&body), walker2d_part);
    bench_parts(half_cheetah_env(&body), half_cheetah_part);
    bench_cartpole();
    return 0;
}
