/* examples/envs/planar.h and the four tasks on it, against MuJoCo's own numbers (a few rows always,
   all of them where the reference files lie beside the project), against the laws of mechanics
   written anew from the tables, and as tasks: bad actions, impossible states, saving.
   inverted_pendulum.h has a test of its own. */
#include "implementation.h"
#include "resnharpg.h"
#include "examples/envs/half_cheetah.h"
#include "examples/envs/hopper.h"
#include "examples/envs/inverted_double_pendulum.h"
#include "examples/envs/inverted_pendulum.h"
#include "examples/envs/walker2d.h"
#include "greatest.h"
#include "common.h"
#include "planar_models.h"
#include "planar_rows.h"

#define REFERENCE "../shared/reference/mujoco/"

enum { MAX_FIELDS = 128, LINE = 8192, N = PLANAR_JOINTS, MARKS = 6, MAX_FILES = 8 };

/* ---- the tasks, as the tests see them */
typedef struct task {
    const char *name;
    const planar_model *model;
    planar_engine *physics;
    void (*accelerate)(int v2, const double *q, const double *v, const double *ctrl,
                       planar_work *k);
    const planar_task *rules;
    rn_env (*env)(int v2);
    const double *rows; /* kept ones */
    size_t row_count;
    int files;
    const double (*drift)[MARKS];
} task;

#define FOUR(X) X(inverted_double_pendulum, 3) X(hopper, 6) X(walker2d, 9) X(half_cheetah, 9)

static planar_body body_of(const planar_task *t, const double *q, const double *v) {
    planar_body b;
    memset(&b, 0, sizeof b);
    b.task = t;
    memcpy(b.q, q, sizeof *q * (size_t)t->model->joints);
    memcpy(b.v, v, sizeof *v * (size_t)t->model->joints);
    return b;
}

static rn_step_result move(const planar_task *t, double *q, double *v, const double *act,
                           double *reward) {
    planar_body b = body_of(t, q, v);
    const rn_step_result r = planar_move(&b, act, reward);
    memcpy(q, b.q, sizeof *q * (size_t)t->model->joints);
    memcpy(v, b.v, sizeof *v * (size_t)t->model->joints);
    return r;
}

static double reward_of(const planar_task *t, const double *before, const double *q,
                        const double *v, const double *act, const double *tip) {
    planar_body b = body_of(t, q, v);
    double reward = 0;
    if (tip) {
        b.tip_x = tip[0];
        b.tip_z = tip[1];
    }
    (void)t->judge(&b, before[0], act, &reward);
    return reward;
}

/* clang-format off */

#define ADAPT(T, joints)                                                                           \
    ENV_BEGIN                                                                                      \
    static void T##_accelerate(int v2, const double *q, const double *v, const double *ctrl,       \
                               planar_work *k) {                                                   \
        planar_accelerate(&T##_model, T##_model.mass[v2], q, v, ctrl, k);                          \
    }                                                                                              \
    ENV_END                                                                                        \
    static rn_env T##_make(int v2) {                                                               \
        static T state[2];                                                                         \
        return v2 ? T##_env_v2(&state[1]) : T##_env(&state[0]);                                    \
    }
/* clang-format on */
FOUR(ADAPT)

/* how far MuJoCo drifts from its own files under noise of rounding size, up to the steps of
   `mark` */
static const int mark[MARKS] = {1, 10, 20, 50, 100, 200};

/* clang-format off */
static const double drifts[4][MAX_FILES][MARKS] = {
    {{3e-13, 1e-12, 6e-12, 8e-09, 2e-07, 4e-04}, {3e-13, 6e-12, 5e-10, 3e-04, 3e+01, 3e+01},
     {2e-13, 4e-11, 7e-11, 8e-10, 1e-05, 1e+01}, {2e-13, 1e-11, 4e-11, 5e-09, 2e-04, 4e+01},
     {3e-13, 1e-11, 3e-11, 1e-09, 3e-07, 3e-03}},
    {{2e-13, 9e-13, 1e-12, 2e-12, 6e-12, 3e-10}, {2e-13, 2e-12, 3e-12, 4e-12, 4e-11, 1e-10},
     {2e-13, 2e-12, 3e-12, 5e-12, 5e-11, 1e-10}, {2e-13, 7e-13, 7e-12, 7e-11, 8e-10, 3e-08},
     {2e-13, 1e-12, 2e-12, 1e-11, 7e-11, 7e-10}, {2e-13, 1e-12, 2e-12, 7e-12, 6e-11, 6e-11},
     {2e-13, 1e-12, 2e-12, 8e-12, 2e-11, 3e-10}, {2e-13, 9e-13, 2e-12, 2e-12, 7e-12, 6e-11}},
    {{3e-13, 9e-13, 6e-12, 9e-11, 1e-10, 2e-09}, {3e-13, 3e-12, 2e-11, 1e-10, 1e-09, 3e-08},
     {3e-13, 7e-12, 1e-11, 7e-11, 3e-10, 2e-09}, {2e-13, 1e-11, 1e-11, 2e-10, 1e-09, 2e-08},
     {5e-13, 2e-12, 6e-12, 5e-11, 4e-10, 3e-09}, {3e-13, 2e-11, 3e-11, 5e-11, 3e-10, 3e-09},
     {3e-13, 2e-12, 2e-11, 2e-11, 1e-10, 2e-10}, {3e-13, 2e-12, 6e-12, 4e-11, 3e-09, 2e-07}},
    {{3e-13, 2e-12, 2e-12, 2e-12, 2e-12, 2e-12}, {4e-13, 1e-11, 2e-11, 2e-10, 3e-04, 9e-01},
     {3e-13, 5e-11, 5e-11, 4e-09, 1e-02, 2e+01}, {3e-13, 6e-11, 6e-10, 4e-07, 2e-01, 2e+00},
     {8e-13, 1e-10, 4e-10, 7e-08, 6e-05, 1e+01}, {2e-13, 6e-12, 2e-11, 6e-10, 2e-07, 4e-04},
     {1e-12, 7e-10, 3e-09, 7e-09, 7e-09, 7e-09}}};
/* clang-format on */

/* clang-format off */

#define TASK(T, files, drift) \
    {#T, &T##_model, T##_physics, T##_accelerate, &T##_task, T##_make, T##_rows[0],                \
     sizeof T##_rows / sizeof T##_rows[0], files, drift}
/* clang-format on */
static const task tasks[4] = {TASK(inverted_double_pendulum, 5, drifts[0]),
                              TASK(hopper, 8, drifts[1]), TASK(walker2d, 8, drifts[2]),
                              TASK(half_cheetah, 7, drifts[3])};

/* ---- helpers */
static double worse(double a, double b) { return a >= b ? a : b; /* NaN as b wins */ }

static double difference(double got, double expected) {
    return fabs(got - expected) / fmax(1, fabs(expected));
}

/* x: positions, speeds */
static double distance(const double *q, const double *v, const double *x, int n) {
    double most = 0;
    for (int i = 0; i < n; i++)
        most = worse(worse(most, difference(q[i], x[i])), difference(v[i], x[n + i]));
    return most;
}

static double between(rng *r, double low, double high) { return low + (high - low) * rng_unit(r); }

static int motors(const planar_model *m) {
    int n = 0;
    for (int i = 0; i < m->joints; i++) n += m->joint[i].gear != 0;
    return n;
}

/* anywhere: joints up to a little past their stops, bodies from below the ground to high above
   it */
static void random_state(const planar_model *m, rng *r, double speed, double *q, double *v) {
    for (int i = 0; i < m->joints; i++) {
        const planar_joint *j = &m->joint[i];
        const double past = 0.05 * (j->high - j->low), reach = j->kind == PLANAR_HINGE ? 3 : 0.9;
        q[i] = j->low < j->high ? between(r, j->low - past, j->high + past)
                                : j->start + between(r, -reach, reach);
        v[i] = between(r, -speed, speed);
    }
}

static void random_control(const planar_model *m, rng *r, double *ctrl) {
    for (int i = 0; i < motors(m); i++) ctrl[i] = between(r, -1.2 * m->ctrl, 1.2 * m->ctrl);
}

/* ---- MuJoCo 2.2.2. x: controls, state, state after a physics step, after a control step,
   reward, terminated */
static greatest_test_res check_row(const task *t, const double *ctrl, const double *start,
                                   const double *sub, const double *ctl) {
    const int n = t->model->joints;
    const double *end = ctl + 2 * n;
    double q[N], v[N], reward;
    planar_work k;
    memcpy(q, start, sizeof q[0] * (size_t)n);
    memcpy(v, start + n, sizeof v[0] * (size_t)n);
    planar_guess(&k);
    t->physics(0, q, v, ctrl, &k);
    ASSERT(distance(q, v, sub, n) <= 1e-12);
    memcpy(q, start, sizeof q[0] * (size_t)n);
    memcpy(v, start + n, sizeof v[0] * (size_t)n);
    ASSERT_EQ((int)end[1], move(t->rules, q, v, ctrl, &reward) == RN_TERMINATED);
    ASSERT(distance(q, v, ctl, n) <= 1e-11);
    ASSERT(difference(reward, end[0]) <= 1e-11);
    PASS();
}

TEST kept_rows(void) {
    for (int i = 0; i < 4; i++) {
        const task *t = &tasks[i];
        const size_t n = (size_t)t->model->joints, m = (size_t)motors(t->model),
                     width = m + 6 * n + 2;
        for (size_t row = 0; row < t->row_count; row++) {
            const double *x = t->rows + row * width;
            CHECK_CALL(check_row(t, x, x + m, x + m + 2 * n, x + m + 4 * n));
        }
    }
    PASS();
}

/* also: row number, accelerations, three counts */
static greatest_test_res check_rows(const task *t, FILE *f) {
    const int n = t->model->joints, m = motors(t->model);
    char line[LINE];
    double x[MAX_FIELDS];
    int count = 0;
    while (fgets(line, LINE, f)) {
        const double *ctrl = x + 1, *start = ctrl + m, *a = start + 2 * n, *counts = a + 5 * n + 2;
        planar_work k;
        if (numbers(line, x, MAX_FIELDS) != 1 + m + 7 * n + 5) continue;
        CHECK_CALL(check_row(t, ctrl, start, a + n, a + 3 * n));
        planar_guess(&k);
        t->accelerate(0, start, start + n, ctrl, &k);
        /* M is near singular in Walker2d */
        for (int i = 0; i < n; i++) ASSERT(difference(k.motion.a[i], a[i]) <= 1e-10);
        ASSERT_EQ((int)counts[0], k.contacts);
        ASSERT_EQ((int)counts[1], k.touches);
        ASSERT_EQ((int)counts[2], k.stops);
        count++;
    }
    ASSERT_EQ(300, count);
    PASS();
}

TEST all_rows(void) {
    for (int i = 0; i < 4; i++) {
        char name[128];
        FILE *f;
        greatest_test_res res;
        snprintf(name, sizeof name, REFERENCE "%s_onestep.csv", tasks[i].name);
        f = fopen(name, "r");
        if (!f) SKIPm("no reference files beside the project");
        res = check_rows(&tasks[i], f);
        fclose(f);
        CHECK_CALL(res);
    }
    PASS();
}

/* columns: step, controls, state, reward, terminated, three counts; the double pendulum: tip,
   forces */
static greatest_test_res check_trajectory(const task *t, FILE *f, const double *allowed) {
    const int n = t->model->joints, m = motors(t->model),
              poles = t->model == &inverted_double_pendulum_model;
    char line[LINE];
    double x[MAX_FIELDS], q[N], v[N], freeq[N], freev[N], off = 0, reward;
    int step = 0, at = 0;
    while (fgets(line, LINE, f)) {
        const double *ctrl = x + 1, *state = ctrl + m, *end = state + 2 * n, *tip = end + 5;
        if (numbers(line, x, MAX_FIELDS) != 1 + m + 2 * n + 5 + 5 * poles) continue;
        if (step == 0) {
            memcpy(freeq, state, sizeof q[0] * (size_t)n);
            memcpy(freev, state + n, sizeof v[0] * (size_t)n);
        } else {
            /* to the last bit, of the file's own states */
            ASSERT(reward_of(t->rules, q, state, state + n, ctrl, poles ? tip : NULL) == end[0]);
            if (poles) {
                inverted_double_pendulum s = body_of(t->rules, q, v);
                (void)planar_move(&s, ctrl, &reward);
                ASSERT(difference(s.tip_x, tip[0]) <= 1e-11 &&
                       difference(s.tip_z, tip[1]) <= 1e-11);
                for (int i = 0; i < 3; i++) ASSERT(difference(s.force[i], tip[2 + i]) <= 1e-11);
            }
            ASSERT_EQ((int)end[1], move(t->rules, q, v, ctrl, &reward) == RN_TERMINATED);
            ASSERT(difference(reward, end[0]) <= 1e-11);
            ASSERT(distance(q, v, state, n) <= 1e-11);
            (void)move(t->rules, freeq, freev, ctrl, &reward);
            off = worse(off, distance(freeq, freev, state, n));
            if (step > mark[at]) at++;
            ASSERT(off <= 10 * allowed[at]);
        }
        memcpy(q, state, sizeof q[0] * (size_t)n);
        memcpy(v, state + n, sizeof v[0] * (size_t)n);
        step++;
    }
    ASSERT_EQ(201, step);
    PASS();
}

TEST trajectories(void) {
    for (int i = 0; i < 4; i++)
        for (int file = 0; file < tasks[i].files; file++) {
            char name[128];
            FILE *f;
            greatest_test_res res;
            snprintf(name, sizeof name, REFERENCE "%s_%d.csv", tasks[i].name, file);
            f = fopen(name, "r");
            if (!f) SKIPm("no reference files beside the project");
            res = check_trajectory(&tasks[i], f, tasks[i].drift[file]);
            fclose(f);
            CHECK_CALL(res);
        }
    PASS();
}

SUITE(mujoco) {
    RUN_TEST(kept_rows);
    RUN_TEST(all_rows);
    RUN_TEST(trajectories);
}

/* ---- mechanics, written from the tables anew: positions and their derivatives along v by dual
   numbers */
typedef struct dual {
    double x, d;
} dual;

static dual dual_of(double x, double d) {
    dual r;
    r.x = x;
    r.d = d;
    return r;
}

static dual plus(dual a, dual b) { return dual_of(a.x + b.x, a.d + b.d); }

static dual times(dual a, dual b) { return dual_of(a.x * b.x, a.d * b.x + a.x * b.d); }

static dual scaled(double s, dual a) { return dual_of(s * a.x, s * a.d); }

static dual sine(dual a) { return dual_of(sin(a.x), a.d * cos(a.x)); }

static dual cosine(dual a) { return dual_of(cos(a.x), -a.d * sin(a.x)); }

typedef struct pose {
    dual angle, x, z;
} pose;

/* the frame's point (x, z) */
static pose moved(pose p, dual x, dual z) {
    p.x = plus(p.x, plus(times(x, cosine(p.angle)), times(z, sine(p.angle))));
    p.z = plus(p.z, plus(times(z, cosine(p.angle)), scaled(-1, times(x, sine(p.angle)))));
    return p;
}

static void poses(const planar_model *m, const double *q, const double *v, pose *out) {
    for (int i = 0; i < m->joints; i++) {
        const planar_joint *j = &m->joint[i];
        const dual way = dual_of(q[i] - j->start, v[i]), x = dual_of(j->x, 0), z = dual_of(j->z, 0);
        pose p;
        memset(&p, 0, sizeof p);
        if (j->parent >= 0) p = out[j->parent];
        p = moved(p, j->kind == PLANAR_SLIDE_X ? plus(x, way) : x,
                  j->kind == PLANAR_SLIDE_Z ? plus(z, way) : z);
        if (j->kind == PLANAR_HINGE) p.angle = plus(p.angle, way);
        if (j->kind == PLANAR_HINGE_BACK) p.angle = plus(p.angle, scaled(-1, way));
        out[i] = p;
    }
}

/* energy (kinetic, of weight, of springs) and momentum (along x, along z, about the world's
   origin) */
typedef struct sums {
    double kinetic, potential, px, pz, turn, mass, fall;
} sums; /* fall: moment of gravity */

static sums add_up(const planar_model *m, int v2, const double *q, const double *v) {
    pose p[N];
    sums s = {0, 0, 0, 0, 0, 0, 0};
    poses(m, q, v, p);
    for (int i = 0; i < m->joints; i++) {
        const planar_mass *b = &m->mass[v2][i];
        const pose c = moved(p[i], dual_of(b->x, 0), dual_of(b->z, 0));
        s.kinetic +=
            0.5 * (b->mass * (c.x.d * c.x.d + c.z.d * c.z.d) + b->inertia * c.angle.d * c.angle.d +
                   m->joint[i].armature * v[i] * v[i]);
        s.potential += 0.5 * m->joint[i].stiffness * q[i] * q[i] -
                       b->mass * (m->gravity_x * c.x.x + m->gravity_z * c.z.x);
        s.px += b->mass * c.x.d;
        s.pz += b->mass * c.z.d;
        s.turn += b->mass * (c.z.x * c.x.d - c.x.x * c.z.d) + b->inertia * c.angle.d;
        s.mass += b->mass;
        s.fall += b->mass * (c.z.x * m->gravity_x - c.x.x * m->gravity_z);
    }
    return s;
}

ENV_BEGIN
static void contraption_accelerate(int v2, const double *q, const double *v, const double *ctrl,
                                   planar_work *k) {
    planar_accelerate(&contraption_model, contraption_model.mass[v2], q, v, ctrl, k);
}

static void constraint(const planar_model *m, const planar_work *k, double *torque) {
    planar_constraint(m, k, torque);
}

ENV_END

/* the rate of what `add_up` sums, by steps forward and back along the motion; two sizes of them
   cancel the error of the second order */
static sums rates(const planar_model *m, int v2, const double *q, const double *v,
                  const double *a) {
    static const double step[4] = {4e-5, -4e-5, 2e-5, -2e-5}, share[4] = {-1, 1, 8, -8};
    sums r = {0, 0, 0, 0, 0, 0, 0};
    for (int k = 0; k < 4; k++) {
        const double h = step[k], by = share[k] / (3 * 8e-5);
        double nq[N], nv[N];
        sums s;
        for (int i = 0; i < m->joints; i++) {
            nq[i] = q[i] + h * v[i] + h * h / 2 * a[i];
            nv[i] = v[i] + h * a[i];
        }
        s = add_up(m, v2, nq, nv);
        r.kinetic += by * s.kinetic;
        r.potential += by * s.potential;
        r.px += by * s.px;
        r.pz += by * s.pz;
        r.turn += by * s.turn;
    }
    return r;
}

/* dE/dt = what motors and rows put in less what damping takes; and for bodies that fly: force =
   change of momentum */
static greatest_test_res check_laws(const planar_model *m,
                                    void (*accelerate)(int, const double *, const double *,
                                                       const double *, planar_work *),
                                    int v2, rng *r) {
    int touched = 0;
    for (int run = 0; run < 400; run++) {
        double q[N], v[N], ctrl[N], push[N], power = 0, size = 1;
        planar_work k;
        sums now, rate;
        int motor = 0;
        random_state(m, r, 3, q, v);
        random_control(m, r, ctrl);
        planar_guess(&k);
        accelerate(v2, q, v, ctrl, &k);
        constraint(m, &k, push);
        for (int i = 0; i < m->joints; i++) {
            double f = push[i] - m->joint[i].damping * v[i];
            if (m->joint[i].gear != 0)
                f += m->joint[i].gear * fmin(fmax(ctrl[motor++], -m->ctrl), m->ctrl);
            power += f * v[i];
            size += fabs(f * v[i]) + fabs(push[i]) + fabs(k.motion.a[i] * v[i]);
        }
        now = add_up(m, v2, q, v);
        rate = rates(m, v2, q, v, k.motion.a);
        ASSERT_IN_RANGE(power, rate.kinetic + rate.potential, 1e-7 * size);
        if (m->joint[1].kind == PLANAR_SLIDE_Z && m->joint[0].kind == PLANAR_SLIDE_X) {
            pose p[N];
            poses(m, q, v, p);
            ASSERT_IN_RANGE(push[0], rate.px, 1e-7 * size);
            ASSERT_IN_RANGE(push[1] + now.mass * m->gravity_z, rate.pz, 1e-7 * size);
            ASSERT_IN_RANGE(push[2] + p[2].z.x * push[0] - p[2].x.x * push[1] + now.fall, rate.turn,
                            1e-7 * size);
        }
        touched += k.contacts + k.touches + k.stops > 0;
    }
    ASSERT(touched > 20);
    PASS();
}

TEST energy_and_momentum(void) {
    rng r = rng_make(1);
    for (int i = 0; i < 4; i++)
        for (int v2 = 0; v2 < 2; v2++)
            CHECK_CALL(check_laws(tasks[i].model, tasks[i].accelerate, v2, &r));
    CHECK_CALL(check_laws(&contraption_model, contraption_accelerate, 0, &r));
    PASS();
}

/* a flight: no ground, no stops, no control. What is lost is what damping took; Simpson's rule over
   pairs of steps. */
TEST energy_over_a_flight(void) {
    static const double start[6] = {0, 3, 0.1, -0.5, -0.7, 0.1};
    const planar_model *m = &hopper_model;
    double q[N], v[N] = {1, 2, 1, -2, 1, 1}, ctrl[N] = {0}, lost = 0, before, l[3];
    planar_work k;
    memcpy(q, start, sizeof start);
    before = add_up(m, 0, q, v).kinetic + add_up(m, 0, q, v).potential;
    planar_guess(&k);
    for (int t = 0; t < 100; t++) {
        for (int i = 0; i < 3; i++) {
            l[i] = v[3] * v[3] + v[4] * v[4] + v[5] * v[5];
            if (i < 2) hopper_physics(0, q, v, ctrl, &k);
            ASSERT_EQ(0, k.contacts + k.touches + k.stops);
        }
        lost += m->timestep / 3 * (l[0] + 4 * l[1] + l[2]);
    }
    ASSERT(lost > 0.5);
    ASSERT_IN_RANGE(before, add_up(m, 0, q, v).kinetic + add_up(m, 0, q, v).potential + lost, 1e-8);
    PASS();
}

/* the two legs of a walker that flies are alike: to the last bit, whatever they do together, stops
   included */
TEST symmetric_flight(void) {
    rng r = rng_make(2);
    int stops = 0;
    for (int run = 0; run < 50; run++) {
        double q[N], v[N], ctrl[N];
        planar_work k;
        random_state(&walker2d_model, &r, 2, q, v);
        q[1] = 5;
        memcpy(q + 6, q + 3, 3 * sizeof *q);
        memcpy(v + 6, v + 3, 3 * sizeof *v);
        planar_guess(&k);
        for (int t = 0; t < 40; t++) {
            random_control(&walker2d_model, &r, ctrl);
            memcpy(ctrl + 3, ctrl, 3 * sizeof *ctrl);
            walker2d_physics(0, q, v, ctrl, &k);
            ASSERT_MEM_EQ(&q[3], &q[6], 3 * sizeof *q);
            ASSERT_MEM_EQ(&v[3], &v[6], 3 * sizeof *v);
            ASSERT_EQ(0, k.contacts);
            stops += k.stops;
        }
    }
    ASSERT(stops > 100);
    PASS();
}

/* a level plank falls flat and stays flat where it fell; tilted to the left it does what it does to
   the right */
TEST symmetric_falls(void) {
    rng r = rng_make(3);
    double ctrl = 0;
    planar_work k;
    for (int run = 0; run < 20; run++) {
        double q[2][3] = {{0, -0.3, 0}, {0, -0.3, 0}}, v[2][3] = {{0, 0, 0}, {0, 0, 0}};
        q[0][2] = run ? between(&r, -1, 1) : 0;
        v[0][0] = run ? between(&r, -2, 2) : 0;
        v[0][2] = run ? between(&r, -2, 2) : 0;
        q[1][2] = -q[0][2];
        v[1][0] = -v[0][0];
        v[1][2] = -v[0][2];
        planar_guess(&k);
        for (int t = 0; t < 500; t++) {
            for (int side = 0; side < 2; side++) plank_physics(0, q[side], v[side], &ctrl, &k);
            ASSERT_IN_RANGE(-q[0][0], q[1][0], 1e-12);
            ASSERT_IN_RANGE(q[0][1], q[1][1], 1e-12);
            ASSERT_IN_RANGE(-q[0][2], q[1][2], 1e-12);
            if (run == 0) ASSERT(fabs(q[0][0]) <= 1e-15 && fabs(q[0][2]) <= 1e-15);
        }
    }
    PASS();
}

/* at rest: the depth at which K d depth / R of the rows holds half the plank, found here by
   halving; it stays there */
TEST resting_contact(void) {
    const planar_soft *s = &plank_model.contact;
    const double mu2 = 0.7 * 0.7, K = 1 / (s->high * s->high * s->time * s->time),
                 weight = 0.33333333333333331;
    double q[3] = {0.25, -0.94, 0}, v[3] = {0, 0, 0}, ctrl = 0, low = 0, high = 0.01, settled;
    planar_work k;
    planar_guess(&k);
    for (int t = 0; t < 2000; t++) plank_physics(0, q, v, &ctrl, &k);
    settled = q[1];
    for (int i = 0; i < 60; i++) {
        const double depth = 0.5 * (low + high), x = depth / s->width,
                     y = x <= 0.5 ? 2 * x * x : 1 - 2 * (1 - x) * (1 - x);
        const double d = s->low + (s->high - s->low) * y,
                     R = 2 * mu2 * (1 + mu2) * weight * (1 - d) / d;
        if (4 * K * d * depth / R < 0.5 * 2 * 9.81)
            low = depth;
        else
            high = depth;
    }
    ASSERT_IN_RANGE(s->margin - low, 1 + settled - 0.05, 1e-12);
    for (int t = 0; t < 20000; t++) {
        plank_physics(0, q, v, &ctrl, &k);
        ASSERT_EQ(2, k.contacts);
        ASSERT_IN_RANGE(settled, q[1], 1e-14);
        ASSERT_IN_RANGE(0.25, q[0], 1e-14);
        ASSERT_IN_RANGE(0, q[2], 1e-14);
    }
    PASS();
}

/* legged bodies left alone come to rest and stay there */
TEST they_come_to_rest(void) {
    static const int which[2] = {1, 3}; /* hopper, half cheetah */
    for (int i = 0; i < 2; i++) {
        const planar_model *m = tasks[which[i]].model;
        double q[N], v[N], ctrl[N] = {0}, at[N];
        planar_work k;
        for (int j = 0; j < m->joints; j++) q[j] = m->joint[j].start, v[j] = 0.01 * (j + 1);
        planar_guess(&k);
        for (int t = 0; t < 20000; t++) tasks[which[i]].physics(0, q, v, ctrl, &k);
        memcpy(at, q, sizeof at);
        for (int t = 0; t < 5000; t++) tasks[which[i]].physics(0, q, v, ctrl, &k);
        ASSERT(k.contacts >= 2);
        for (int j = 0; j < m->joints; j++) {
            ASSERT_IN_RANGE(0, v[j], 1e-7);
            ASSERT_IN_RANGE(at[j], q[j], 1e-6);
        }
    }
    PASS();
}

/* the answer is the least of the convex function: no row pulls, and no other motion nearby costs
   less. The cost is written here from M (kinetic energy) and the rows themselves. */
static double cost(const planar_model *m, const planar_work *k, const double *mass,
                   const double *force, const double *a, const planar_twist *t) {
    double sum = 0;
    for (int i = 0; i < m->joints; i++) {
        for (int j = 0; j < m->joints; j++) sum += 0.5 * a[i] * mass[i * N + j] * a[j];
        sum -= force[i] * a[i];
        if (m->joint[i].low < m->joint[i].high && k->stop[i].side != 0)
            sum += 0.5 * k->stop[i].push * pow(fmin(0, k->stop[i].side * a[i] - k->stop[i].aim), 2);
    }
    for (int i = 0; i < k->contacts; i++) {
        const planar_contact *c = &k->contact[i];
        const planar_twist *b = &t[c->joint];
        const double n = b->z - b->w * c->rx - c->aim_n,
                     side = c->mu * (b->x + b->w * c->rz - c->aim_t);
        sum += 0.5 * c->push *
               (pow(fmin(0, n + side), 2) + pow(fmin(0, n - side), 2) + 2 * pow(fmin(0, n), 2));
    }
    for (int i = 0; i < k->touches; i++) {
        const planar_touch *c = &k->touch[i];
        const planar_twist *p = &t[c->joint1], *o = &t[c->joint2];
        const double apart = c->nx * (o->x + o->w * c->rz2 - p->x - p->w * c->rz1) +
                             c->nz * (o->z - o->w * c->rx2 - p->z + p->w * c->rx1);
        sum += 0.5 * c->push * pow(fmin(0, apart - c->aim), 2);
    }
    return sum;
}

/* by kinetic energies */
static void mass_matrix(const planar_model *m, int v2, const double *q, double *M) {
    for (int i = 0; i < m->joints; i++)
        for (int j = 0; j < m->joints; j++) {
            double v[3][N];
            memset(v, 0, sizeof v);
            v[0][i] += 1, v[0][j] += 1, v[1][i] = 1, v[2][j] = 1;
            M[i * N + j] = add_up(m, v2, q, v[0]).kinetic - add_up(m, v2, q, v[1]).kinetic -
                           add_up(m, v2, q, v[2]).kinetic;
        }
}

static greatest_test_res check_least(const planar_model *m,
                                     void (*accelerate)(int, const double *, const double *,
                                                        const double *, planar_work *),
                                     rng *r, int *searched) {
    for (int run = 0; run < 300; run++) {
        double q[N], v[N], ctrl[N], M[N * N], force[N], push[N], a[N], least;
        planar_twist t[N];
        planar_work k;
        random_state(m, r, 8, q, v);
        random_control(m, r, ctrl);
        planar_guess(&k);
        accelerate(0, q, v, ctrl, &k);
        *searched += k.rounds > 2;
        mass_matrix(m, 0, q, M);
        constraint(m, &k, push);
        for (int i = 0; i < m->joints; i++) { /* forces without rows: M a - J^T f */
            force[i] = -push[i];
            for (int j = 0; j < m->joints; j++) force[i] += M[i * N + j] * k.motion.a[j];
        }
        least = cost(m, &k, M, force, k.motion.a, k.motion.t);
        /* bodies move as joints make them: twists by the poses' rates */
        for (int trial = 0; trial < 10; trial++) {
            pose p[N];
            double by[N];
            for (int i = 0; i < m->joints; i++) {
                by[i] = between(r, -1, 1) * pow(10, between(r, -3, 1));
                a[i] = k.motion.a[i] + by[i];
            }
            poses(m, q, by, p);
            for (int i = 0; i < m->joints; i++) {
                t[i].w = k.motion.t[i].w + p[i].angle.d;
                t[i].x = k.motion.t[i].x + p[i].x.d;
                t[i].z = k.motion.t[i].z + p[i].z.d;
            }
            ASSERT(cost(m, &k, M, force, a, t) >= least - 1e-9 * (1 + fabs(least)));
        }
    }
    PASS();
}

TEST least_cost(void) {
    rng r = rng_make(4);
    int searched = 0;
    for (int i = 0; i < 4; i++)
        CHECK_CALL(check_least(tasks[i].model, tasks[i].accelerate, &r, &searched));
    CHECK_CALL(check_least(&contraption_model, contraption_accelerate, &r, &searched));
    ASSERT(searched > 20); /* the line search is used, if rarely */
    PASS();
}

/* capsules touch if their segments are near, but not if these cross: then no way out is the
   nearest */
static double left_of(const planar_segment *s, double x, double z) {
    return (s->bx - s->ax) * (z - s->az) - (s->bz - s->az) * (x - s->ax);
}

static int crosses(const planar_segment *a, const planar_segment *b) {
    return left_of(a, b->ax, b->az) * left_of(a, b->bx, b->bz) < 0 &&
           left_of(b, a->ax, a->az) * left_of(b, a->bx, a->bz) < 0;
}

static double distance_to(const planar_segment *s, double x, double z) {
    const double ux = s->bx - s->ax, uz = s->bz - s->az;
    const double along = ((x - s->ax) * ux + (z - s->az) * uz) / (ux * ux + uz * uz),
                 t = fmin(fmax(along, 0), 1);
    return hypot(x - s->ax - t * ux, z - s->az - t * uz);
}

/* an end is nearest */
static double distance_between(const planar_segment *a, const planar_segment *b) {
    return fmin(fmin(distance_to(a, b->ax, b->az), distance_to(a, b->bx, b->bz)),
                fmin(distance_to(b, a->ax, a->az), distance_to(b, a->bx, a->bz)));
}

static greatest_test_res check_pairs(const planar_model *m,
                                     void (*accelerate)(int, const double *, const double *,
                                                        const double *, planar_work *),
                                     rng *r) {
    int touched = 0, crossed = 0;
    for (int run = 0; run < 5000; run++) {
        double q[N], v[N], ctrl[N];
        planar_segment s[PLANAR_CAPSULES];
        planar_work k;
        int touches = 0;
        random_state(m, r, 1, q, v);
        random_control(m, r, ctrl);
        planar_guess(&k);
        accelerate(0, q, v, ctrl, &k);
        planar_segments(m, q, s);
        for (int i = 0; i < m->pairs; i++) {
            const planar_segment *a = &s[m->pair[i][0]], *b = &s[m->pair[i][1]];
            crossed += crosses(a, b);
            touches += !crosses(a, b) &&
                       distance_between(a, b) < a->radius + b->radius + m->contact.margin;
        }
        ASSERT_EQ(touches, k.touches);
        touched += touches;
    }
    ASSERT(touched > 20 && crossed > 20);
    PASS();
}

TEST touching_pairs(void) {
    rng r = rng_make(5);
    CHECK_CALL(check_pairs(&hopper_model, tasks[1].accelerate, &r));
    CHECK_CALL(check_pairs(&contraption_model, contraption_accelerate, &r));
    PASS();
}

SUITE(mechanics) {
    RUN_TEST(energy_and_momentum);
    RUN_TEST(energy_over_a_flight);
    RUN_TEST(symmetric_flight);
    RUN_TEST(symmetric_falls);
    RUN_TEST(resting_contact);
    RUN_TEST(they_come_to_rest);
    RUN_TEST(least_cost);
    RUN_TEST(touching_pairs);
}

/* ---- the tables: masses from the capsules, weights from the mass matrix */
static const planar_model *const models[] = {&inverted_pendulum_model,
                                             &inverted_double_pendulum_model,
                                             &hopper_model,
                                             &walker2d_model,
                                             &half_cheetah_model,
                                             &contraption_model,
                                             &plank_model};

enum { MODELS = sizeof models / sizeof models[0] };

/* 1000 kg/m^3. True capsules: a cylinder and two half balls. MuJoCo to 2.1.0: a cylinder longer by
   one radius. */
static planar_mass mass_of(const planar_capsule *c, int v2) {
    const double pi = 3.14159265358979323846, r = c->radius,
                 length = hypot(c->ax - c->bx, c->az - c->bz);
    const double tube = 1000 * pi * r * r * (v2 ? length + r : length),
                 ball = v2 ? 0 : 1000 * 4 * pi * r * r * r / 3;
    /* centre of a half ball */
    const double tall = v2 ? length + r : length, off = 0.5 * length + 3 * r / 8;
    planar_mass m = {0, 0, 0, 0, 0, 0};
    m.mass = tube + ball;
    m.x = 0.5 * (c->ax + c->bx);
    m.z = 0.5 * (c->az + c->bz);
    m.inertia = tube * (3 * r * r + tall * tall) / 12 + ball * (83.0 / 320 * r * r + off * off);
    return m;
}

static planar_mass together(planar_mass a, planar_mass b) {
    planar_mass m = {0, 0, 0, 0, 0, 0};
    m.mass = a.mass + b.mass;
    if (!(m.mass > 0)) return m;
    m.x = (a.mass * a.x + b.mass * b.x) / m.mass;
    m.z = (a.mass * a.z + b.mass * b.z) / m.mass;
    m.inertia = a.inertia + a.mass * (pow(a.x - m.x, 2) + pow(a.z - m.z, 2)) + b.inertia +
                b.mass * (pow(b.x - m.x, 2) + pow(b.z - m.z, 2));
    return m;
}

TEST masses_of_capsules(void) {
    for (int i = 0; i < 5; i++)
        for (int v2 = 0; v2 < 2; v2++) {
            const planar_model *m = models[i];
            planar_mass body[N];
            double total = 0;
            memset(body, 0, sizeof body);
            for (int c = 0; c < m->capsules; c++) {
                planar_mass *b = &body[m->capsule[c].joint];
                *b = together(*b, mass_of(&m->capsule[c], v2));
                total += mass_of(&m->capsule[c], v2).mass;
            }
            for (int j = 0; j < m->joints; j++) {
                /* its masses are scaled to 14 kg */
                const double scale = m == &half_cheetah_model ? 14 / total : 1;
                const planar_mass *listed = &m->mass[v2][j];
                ASSERT_IN_RANGE(scale * body[j].mass, listed->mass, 1e-13);
                ASSERT_IN_RANGE(body[j].x, listed->x, 1e-14);
                ASSERT_IN_RANGE(body[j].z, listed->z, 1e-14);
                ASSERT_IN_RANGE(scale * body[j].inertia, listed->inertia, 1e-14);
                ASSERT_EQ(m->joint[j].body != NULL, listed->mass > 0);
            }
        }
    PASS();
}

/* Gauss with pivots; b becomes A^-1 b */
static void solve(double *A, double *b, int n) {
    for (int i = 0; i < n; i++) {
        int p = i;
        for (int j = i + 1; j < n; j++)
            if (fabs(A[j * N + i]) > fabs(A[p * N + i])) p = j;
        for (int l = 0; l < n; l++) {
            const double t = A[i * N + l];
            A[i * N + l] = A[p * N + l];
            A[p * N + l] = t;
        }
        {
            const double t = b[i];
            b[i] = b[p];
            b[p] = t;
        }
        for (int j = i + 1; j < n; j++) {
            const double f = A[j * N + i] / A[i * N + i];
            for (int l = i; l < n; l++) A[j * N + l] -= f * A[i * N + l];
            b[j] -= f * b[i];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++) b[i] -= A[i * N + j] * b[j];
        b[i] /= A[i * N + i];
    }
}

/* e^T M^-1 e for a joint; the mean over x, y, z of J M^-1 J^T at the centre of mass for a body, y
   counting 0 */
TEST weights_at_the_start(void) {
    for (int i = 0; i < MODELS; i++)
        for (int v2 = 0; v2 < 2; v2++) {
            const planar_model *m = models[i];
            double q[N], row[3][N];
            for (int j = 0; j < m->joints; j++) q[j] = m->joint[j].start;
            for (int j = 0; j < m->joints; j++) {
                double weight[3] = {0, 0, 0};
                for (int l = 0; l < m->joints; l++) {
                    double v[N] = {0};
                    pose p[N], c;
                    v[l] = 1;
                    poses(m, q, v, p);
                    c = moved(p[j], dual_of(m->mass[v2][j].x, 0), dual_of(m->mass[v2][j].z, 0));
                    row[0][l] = l == j;
                    row[1][l] = c.x.d;
                    row[2][l] = c.z.d;
                }
                for (int w = 0; w < 3; w++) {
                    double M[N * N], b[N];
                    mass_matrix(m, v2, q, M);
                    memcpy(b, row[w], sizeof b);
                    solve(M, b, m->joints);
                    for (int l = 0; l < m->joints; l++) weight[w] += row[w][l] * b[l];
                }
                ASSERT_IN_RANGE(weight[0], m->mass[v2][j].joint_weight, 1e-11 * weight[0]);
                if (m->joint[j].body)
                    ASSERT_IN_RANGE((weight[1] + weight[2]) / 3, m->mass[v2][j].body_weight, 1e-12);
            }
        }
    PASS();
}

/* at the start, as MuJoCo places them; and anywhere, as the poses do */
TEST segments(void) {
    static const double foot[5] = {0.26, 0.1, -0.13, 0.1, 0.06},
                        head[5] = {0.48535065944617423, 0.70327601791399974, 0.71464934055382567,
                                   0.89672398208600013, 0.046};
    const planar_model *m = &half_cheetah_model;
    planar_segment s[PLANAR_CAPSULES];
    double q[N] = {0, 1.25, 0, 0, 0, 0}, v[N] = {0}, got[5];
    rng r = rng_make(5);
    pose p[N];
    planar_segments(&hopper_model, q, s);
    got[0] = s[3].ax;
    got[1] = s[3].az;
    got[2] = s[3].bx;
    got[3] = s[3].bz;
    got[4] = s[3].radius;
    for (int i = 0; i < 5; i++) ASSERT_IN_RANGE(foot[i], got[i], 1e-15);
    memset(q, 0, sizeof q);
    planar_segments(m, q, s);
    got[0] = s[1].ax;
    got[1] = s[1].az;
    got[2] = s[1].bx;
    got[3] = s[1].bz;
    got[4] = s[1].radius;
    for (int i = 0; i < 5; i++) ASSERT_IN_RANGE(head[i], got[i], 1e-15);
    random_state(m, &r, 1, q, v);
    planar_segments(m, q, s);
    poses(m, q, v, p);
    for (int i = 0; i < m->capsules; i++) {
        const planar_capsule *c = &m->capsule[i];
        const pose a = moved(p[c->joint], dual_of(c->ax, 0), dual_of(c->az, 0));
        const pose b = moved(p[c->joint], dual_of(c->bx, 0), dual_of(c->bz, 0));
        ASSERT_IN_RANGE(a.x.x, s[i].ax, 1e-14);
        ASSERT_IN_RANGE(a.z.x, s[i].az, 1e-14);
        ASSERT_IN_RANGE(b.x.x, s[i].bx, 1e-14);
        ASSERT_IN_RANGE(b.z.x, s[i].bz, 1e-14);
    }
    PASS();
}

static int count(const char *text, const char *word) {
    int n = 0;
    for (; (text = strstr(text, word)) != NULL; text++) n++;
    return n;
}

/* what `make mujoco` loads: all parts are there, elements are closed, numbers keep all digits */
TEST printed_models(void) {
    for (int i = 0; i < MODELS; i++) {
        static char text[20000];
        const planar_model *m = models[i];
        FILE *f = tmpfile();
        size_t size;
        int bodies = 0, ground = 0;
        char number[64];
        ASSERT(f);
        planar_print(f, m, 1);
        rewind(f);
        size = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        text[size] = 0;
        for (int j = 0; j < m->joints; j++) bodies += m->joint[j].body != NULL;
        for (int c = 0; c < m->capsules; c++) ground += m->capsule[c].friction > 0;
        ASSERT_EQ(bodies, count(text, "<body "));
        ASSERT_EQ(bodies, count(text, "</body>"));
        ASSERT_EQ(bodies, count(text, "<inertial "));
        ASSERT_EQ(m->joints, count(text, "<joint name"));
        ASSERT_EQ(m->capsules, count(text, "type=\"capsule\""));
        ASSERT_EQ(ground + m->pairs, count(text, "<pair "));
        ASSERT_EQ(motors(m), count(text, "<motor "));
        ASSERT_EQ(1, count(text, "</mujoco>\n"));
        snprintf(number, sizeof number, "mass=\"%.17g\"", m->mass[1][m->joints - 1].mass);
        ASSERT(strstr(text, number));
    }
    PASS();
}

SUITE(tables) {
    RUN_TEST(masses_of_capsules);
    RUN_TEST(weights_at_the_start);
    RUN_TEST(segments);
    RUN_TEST(printed_models);
}

/* ---- the tasks */
enum { MAX_OBS = 17 };

/* observations, and the size of the noise, by the rules of Gym */
TEST fresh_starts(void) {
    static const double noise[4][2] = {
        {0.1, 0.1}, {0.005, 0.005}, {0.005, 0.005}, {0.1, 0.1}}; /* [1]: normal if 0.1 */
    static const size_t width[4] = {11, 11, 17, 17};
    for (int i = 0; i < 4; i++) {
        const planar_model *m = tasks[i].model;
        const rn_env env = tasks[i].env(0);
        unsigned char bytes[16 * N];
        double q[N], v[N], most = 0, square = 0;
        rn_real obs[MAX_OBS];
        rng r = rng_make(6);
        const agg_rng draw = rng_for_library(&r);
        ASSERT_EQ(width[i], env.obs_dim);
        ASSERT_EQ((size_t)motors(m), env.act_dim);
        ASSERT_EQ(16 * (size_t)m->joints, env.state_size);
        ASSERT(env.act_low == -1 && env.act_high == 1);
        for (int run = 0; run < 2000; run++) {
            env.reset(env.self, &draw, obs);
            env.save(env.self, bytes);
            env_get(q, m->joints, bytes);
            env_get(v, m->joints, bytes + 8 * m->joints);
            for (int j = 0; j < m->joints; j++) {
                ASSERT(fabs(q[j] - m->joint[j].start) <= noise[i][0]);
                most = fmax(most, fabs(q[j] - m->joint[j].start));
                square += v[j] * v[j] / (2000 * m->joints);
            }
            if (i == 0) {
                ASSERT(obs[0] == (rn_real)q[0] && fabs((double)obs[1] - sin(q[1])) <= EPS);
                ASSERT(fabs((double)obs[2] - sin(q[2])) <= EPS &&
                       fabs((double)obs[3] - cos(q[1])) <= EPS);
                ASSERT(fabs((double)obs[4] - cos(q[2])) <= EPS && obs[5] == (rn_real)v[0] &&
                       obs[7] == (rn_real)v[2]);
                ASSERT(obs[8] == 0 && obs[9] == 0 && obs[10] == 0);
            } else {
                for (int j = 1; j < m->joints; j++) ASSERT(obs[j - 1] == (rn_real)q[j]);
                for (int j = 0; j < m->joints; j++) ASSERT(obs[m->joints - 1 + j] == (rn_real)v[j]);
            }
        }
        ASSERT(most > 0.99 * noise[i][0]);
        ASSERT_IN_RANGE(noise[i][1] * noise[i][1] * (noise[i][1] < 0.1 ? 1.0 / 3 : 1), square,
                        0.05 * square);
    }
    PASS();
}

/* speeds are clipped where Gym clips them, the forces of the rail's end are seen */
TEST clipped_observations(void) {
    inverted_double_pendulum p;
    hopper h;
    walker2d w;
    half_cheetah c;
    rn_real obs[MAX_OBS];
    double act = 1, reward;
    (void)inverted_double_pendulum_env(&p);
    (void)hopper_env(&h);
    (void)walker2d_env(&w);
    (void)half_cheetah_env(&c);
    for (int i = 0; i < 9; i++) {
        if (i < 6) h.q[i] = 0, h.v[i] = i % 2 ? 30 : -30;
        w.q[i] = c.q[i] = 0;
        w.v[i] = c.v[i] = i % 2 ? 30 : -30;
    }
    hopper_observe(&h, obs);
    for (int i = 0; i < 6; i++) ASSERT(obs[5 + i] == (i % 2 ? 10 : -10));
    walker2d_observe(&w, obs);
    for (int i = 0; i < 9; i++) ASSERT(obs[8 + i] == (i % 2 ? 10 : -10));
    half_cheetah_observe(&c, obs);
    for (int i = 0; i < 9; i++) ASSERT(obs[8 + i] == (i % 2 ? 30 : -30));
    memset(p.q, 0, sizeof p.q);
    memset(p.v, 0, sizeof p.v);
    p.q[0] = 0.999;
    p.v[0] = 2;
    (void)planar_move(&p, &act, &reward);
    inverted_double_pendulum_observe(&p, obs);
    ASSERT(p.force[0] < -10 && obs[8] == -10 && obs[9] == 0 && obs[10] == 0);
    PASS();
}

/* an action that is no number ends the trajectory and leaves the state; a giant is clamped, and
   paid for as it is */
TEST bad_actions(void) {
    const rn_real bad[3] = {(rn_real)NAN, (rn_real)INFINITY, (rn_real)-INFINITY};
    rng r = rng_make(7);
    const agg_rng draw = rng_for_library(&r);
    for (int i = 0; i < 4; i++) {
        const rn_env body = tasks[i].env(0);
        unsigned char before[16 * N], after[16 * N], clamped[16 * N];
        rn_real obs[MAX_OBS], act[N];
        double reward;
        for (size_t which = 0; which < 3 * body.act_dim; which++) {
            body.reset(body.self, &draw, obs);
            body.save(body.self, before);
            for (size_t a = 0; a < body.act_dim; a++) act[a] = (rn_real)0.5;
            act[which / 3] = bad[which % 3];
            reward = (double)NAN;
            ASSERT_EQ(RN_TERMINATED, body.step(body.self, act, &draw, obs, &reward));
            ASSERT(reward == 0);
            ASSERT(all_finite(obs, body.obs_dim));
            body.save(body.self, after);
            ASSERT_MEM_EQ(before, after, body.state_size);
        }
        for (int sign = -1; sign <= 1; sign += 2) {
            ASSERT(body.load(body.self, before));
            for (size_t a = 0; a < body.act_dim; a++) act[a] = (rn_real)sign;
            (void)body.step(body.self, act, &draw, obs, &reward);
            body.save(body.self, clamped);
            ASSERT(body.load(body.self, before));
            for (size_t a = 0; a < body.act_dim; a++) act[a] = (rn_real)(sign * 1e30);
            (void)body.step(body.self, act, &draw, obs, &reward);
            body.save(body.self, after);
            ASSERT_MEM_EQ(clamped, after, body.state_size);
            ASSERT(reward - reward == 0 && (i == 0 || reward < -1e50));
        }
    }
    PASS();
}

/* states nobody reaches: the step ends at last, nothing that is not finite comes out */
TEST impossible_states(void) {
    static const double odd[] = {1e300, -1e300, 1e10, 1e5,  -99999, 1e4,
                                 1e3,   -1e3,   100,  -100, 1e-300, 0};
    rng r = rng_make(8);
    for (int i = 0; i < 4; i++) {
        const planar_model *m = tasks[i].model;
        for (int run = 0; run < 3000; run++) {
            double q[N], v[N], ctrl[N], reward = (double)NAN;
            rn_step_result res;
            random_state(m, &r, 5, q, v);
            random_control(m, &r, ctrl);
            for (int changes = 1 + (int)rng_below(&r, 4); changes > 0; changes--) {
                double *x = rng_below(&r, 2) ? q : v;
                const size_t which = rng_below(&r, 15);
                x[rng_below(&r, (size_t)m->joints)] = which < 12    ? odd[which]
                                                      : which == 12 ? (double)NAN
                                                      : which == 13 ? (double)INFINITY
                                                                    : -(double)INFINITY;
            }
            for (int step = 0; step < 3; step++) {
                res = move(tasks[i].rules, q, v, ctrl, &reward);
                ASSERT(reward - reward == 0);
                for (int j = 0; j < m->joints; j++)
                    ASSERT(fabs(q[j]) <= PLANAR_LOST && fabs(v[j]) <= PLANAR_LOST);
                ASSERT(res == RN_RUNNING || res == RN_TERMINATED);
            }
        }
        /* any number that is not finite terminates at once */
        for (int j = 0; j < 2 * m->joints; j++) {
            double q[N], v[N], ctrl[N] = {0}, reward = (double)NAN;
            random_state(m, &r, 1, q, v);
            *(j < m->joints ? &q[j] : &v[j - m->joints]) = j % 3 ? (double)NAN : (double)INFINITY;
            ASSERT_EQ(RN_TERMINATED, move(tasks[i].rules, q, v, ctrl, &reward));
            ASSERT(reward == 0);
        }
    }
    PASS();
}

/* a million random steps with resets: all finite, states in a sane box, trajectories of every
   end */
TEST a_million_steps(void) {
    static const int share[4] = {300, 250, 200, 250}; /* thousands */
    const int scale = getenv("TEST_QUICK") ? 10 : is_whole() ? 1000 : 200;
    for (int i = 0; i < 4; i++) {
        const rn_env env = tasks[i].env(0);
        rng r = rng_make(9);
        const agg_rng draw = rng_for_library(&r);
        rn_real obs[MAX_OBS], act[N];
        double reward, most = 0;
        int ends = 0, length = 0;
        env.reset(env.self, &draw, obs);
        for (int t = 0; t < share[i] * scale; t++) {
            rn_step_result res;
            for (size_t a = 0; a < env.act_dim; a++) act[a] = (rn_real)between(&r, -1.5, 1.5);
            res = env.step(env.self, act, &draw, obs, &reward);
            if (!all_finite(obs, env.obs_dim) || !(fabs(reward) < 1000))
                FAILm("not finite or absurd");
            for (size_t o = 0; o < env.obs_dim; o++) most = fmax(most, fabs((double)obs[o]));
            if (res == RN_TERMINATED || ++length == 1000) {
                ends += res == RN_TERMINATED;
                env.reset(env.self, &draw, obs);
                length = 0;
            }
        }
        ASSERT(most < 200);
        ASSERT_EQ(i == 3, ends == 0); /* the cheetah never ends */
    }
    PASS();
}

/* the older masses are another hopper, of the weight that is on record */
TEST older_masses(void) {
    static const double total[4] = {17.631403370109318, 15.264998703792806, 22.698006922186259, 14};
    rng r = rng_make(10);
    for (int i = 0; i < 4; i++) {
        const rn_env now = tasks[i].env(0), then = tasks[i].env(1);
        const agg_rng draw = rng_for_library(&r);
        unsigned char bytes[16 * N], a[16 * N], b[16 * N];
        rn_real obs[MAX_OBS], act[N] = {0};
        double reward, q[N] = {0}, v[N] = {0};
        ASSERT_IN_RANGE(total[i], add_up(tasks[i].model, 1, q, v).mass, 1e-12);
        now.reset(now.self, &draw, obs);
        now.save(now.self, bytes);
        ASSERT(then.load(then.self, bytes));
        for (size_t k = 0; k < now.act_dim; k++) act[k] = (rn_real)0.7;
        (void)now.step(now.self, act, &draw, obs, &reward);
        (void)then.step(then.self, act, &draw, obs, &reward);
        now.save(now.self, a);
        then.save(then.self, b);
        ASSERT(memcmp(a, b, now.state_size) != 0);
    }
    PASS();
}

TEST saving(void) {
    const double refused[5] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1.001e5, -1e300};
    static const unsigned char one[8] = {0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
    rng r = rng_make(11);
    const agg_rng draw = rng_for_library(&r);
    for (int i = 0; i < 4; i++) {
        const rn_env body = tasks[i].env(0);
        const planar_model *m = tasks[i].model;
        unsigned char bytes[16 * N + 1], end[16 * N], again[16 * N], bad[16 * N];
        rn_real obs[MAX_OBS], act[N];
        double reward, *q, *v;
        planar_body b;
        for (int run = 0; run < 20; run++) {
            rng actions = rng_make((uint64_t)run), same = actions;
            body.reset(body.self, &draw, obs);
            for (int t = 0; t < 60; t++) {
                if (t == 30) {
                    bytes[body.state_size] = 77;
                    body.save(body.self, bytes);
                    ASSERT_EQ(77, bytes[body.state_size]);
                    same = actions;
                }
                for (size_t a = 0; a < body.act_dim; a++)
                    act[a] = (rn_real)between(&actions, -1, 1);
                (void)body.step(body.self, act, &draw, obs, &reward);
            }
            body.save(body.self, end);
            ASSERT(body.load(body.self, bytes));
            for (int t = 30; t < 60; t++) {
                for (size_t a = 0; a < body.act_dim; a++) act[a] = (rn_real)between(&same, -1, 1);
                (void)body.step(body.self, act, &draw, obs, &reward);
            }
            body.save(body.self, again);
            ASSERT_MEM_EQ(end, again, body.state_size);
        }
        memset(&b, 0, sizeof b);
        b.task = tasks[i].rules;
        q = b.q;
        v = b.v;
        for (int j = 0; j < m->joints; j++) q[j] = v[j] = 1;
        planar_save(&b, bytes);
        /* little-endian */
        for (int j = 0; j < 2 * m->joints; j++) ASSERT_MEM_EQ(one, &bytes[8 * j], 8);
        for (int j = 0; j < 10 * m->joints; j++) {
            double *x = j % (2 * m->joints) < m->joints ? &q[j % m->joints] : &v[j % m->joints];
            *x = refused[j / (2 * m->joints)];
            planar_save(&b, bad);
            *x = 1;
            ASSERT_FALSE(body.load(body.self, bad));
            body.save(body.self, again);
            ASSERT_MEM_EQ(end, again, body.state_size);
        }
    }
    PASS();
}

SUITE(task_rules) {
    RUN_TEST(fresh_starts);
    RUN_TEST(clipped_observations);
    RUN_TEST(bad_actions);
    RUN_TEST(impossible_states);
    RUN_TEST(a_million_steps);
    RUN_TEST(older_masses);
    RUN_TEST(saving);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(mujoco);
    RUN_SUITE(mechanics);
    RUN_SUITE(tables);
    RUN_SUITE(task_rules);
    GREATEST_MAIN_END();
}
