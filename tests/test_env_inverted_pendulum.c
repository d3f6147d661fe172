/* examples/envs/inverted_pendulum.h against MuJoCo's own numbers (a few rows always, all of them
   where the reference files lie beside the project), against the laws of mechanics, and as a task:
   bad actions, saving, the same bits everywhere. */
#include "implementation.h"
#include "resnharpg.h"
#include "examples/envs/inverted_pendulum.h"
#include "greatest.h"
#include "common.h"

#define REFERENCE "../shared/reference/mujoco/inverted_pendulum_"

enum { MAX_FIELDS = 32, LINE = 4096 };

/* ---- helpers */
/* in the order of the files: qpos, qvel */
static inverted_pendulum state_of(const double *x) {
    inverted_pendulum p;
    memset(&p, 0, sizeof p);
    p.task = &inverted_pendulum_task;
    memcpy(p.q, x, 2 * sizeof *x);
    memcpy(p.v, x + 2, 2 * sizeof *x);
    return p;
}

static rn_step_result move(inverted_pendulum *p, double ctrl) {
    double reward;
    return planar_move(p, &ctrl, &reward);
}

static void physics(inverted_pendulum *p, double ctrl) {
    planar_work k;
    planar_guess(&k);
    inverted_pendulum_physics(0, p->q, p->v, &ctrl, &k);
}

ENV_BEGIN
static void accelerate(const inverted_pendulum *p, double force, double *dv, double *dspin,
                       planar_stop *stop) {
    const double ctrl = force / 100;
    planar_work k;
    planar_guess(&k);
    planar_accelerate(&inverted_pendulum_model, inverted_pendulum_model.mass[0], p->q, p->v, &ctrl,
                      &k);
    *dv = k.motion.a[0];
    *dspin = k.motion.a[1];
    if (stop) memcpy(stop, k.stop, 2 * sizeof *stop);
}

ENV_END
static double worse(double a, double b) { return a >= b ? a : b; /* NaN as b wins */ }

static double difference(double got, double expected) {
    return fabs(got - expected) / fmax(1, fabs(expected));
}

static double distance(const inverted_pendulum *p, const double *x) {
    const double qpos = worse(difference(p->q[0], x[0]), difference(p->q[1], x[1]));
    return worse(worse(qpos, difference(p->v[0], x[2])), difference(p->v[1], x[3]));
}

static int same_state(const inverted_pendulum *a, const inverted_pendulum *b) {
    return !memcmp(a->q, b->q, 16) && !memcmp(a->v, b->v, 16);
}

static double between(rng *r, double low, double high) { return low + (high - low) * rng_unit(r); }

static inverted_pendulum random_state(rng *r, double x, double angle, double speed) {
    double state[4];
    state[0] = between(r, -x, x);
    state[1] = between(r, -angle, angle);
    state[2] = between(r, -speed, speed);
    state[3] = between(r, -2 * speed, 2 * speed);
    return state_of(state);
}

/* ---- MuJoCo 2.2.2. One row: ctrl, state, acceleration, state after a physics step, after a
   control step, reward, terminated. Clamped control; free; cart, pole, both at a stop; running
   and ended. */
enum { ROW = 17 };

/* clang-format off */
static const double rows_kept[][ROW] = {
    {-3.1761995899898769, -0.033508183247229401, 0.06920568179741915, -0.94880519298188615,
     2.1595717079448811, -24.726081975381092, 56.243882907394045, -0.0574114545960272,
     0.12354646151941491, -1.4405093627322711, 3.269483820807924, -0.091076959930280352,
     0.19977265216439649, -1.9243415446788039, 4.3470114735828105, 1, 0},
    {-0.20160900901059398, -0.64761633002671681, -0.0011750403912359503, -1.0434627660447011,
     -0.0082872777616754441, -1.6026987276133819, 3.7920777719350967, -0.66880500433152423,
     -0.00059248621658274201, -1.0753525243388231, 0.066076881482343808, -0.69062867263419447,
     0.0014527578546998389, -1.1069779004601221, 0.13814322753693006, 1, 0},
    {-2.5084829687086718, 0.66335591122216497, 1.5736781651461043, -2.6853807836438777,
     -0.011465004347971706, -16.020135541325178, 0.25303009784407882, 0.6064456431791756,
     1.5734930026965719, -3.0055772876740332, -0.0073519279528586499, 0.54313556899874282,
     1.5733745908341423, -3.3253614164903946, -0.004687530645285173, 1, 1},
    {0.78797526266796503, -1.0240679303363376, 1.573385668639357, 0.53970465813271051,
     -0.0045049006175178902, 5.0520110728856684, 0.10372164086078643, -1.0122638709554321,
     1.5733135298733294, 0.64067949258423251, -0.0028383742554038377, -0.99844162097217248,
     1.5732681457155537, 0.74152376973604739, -0.0017827223926270314, 1, 1},
    {-0.30916783630008315, 1.0022105788856754, 1.6582675459554626, -0.0035641376650418248,
     -0.60436335376713946, -2.1557610583917937, -22.5961180414225, 1.0017258263773146,
     1.6432483570378997, -0.044136558532107524, -0.8245550266795294, 1.0004585373972597,
     1.6269067278157585, -0.082413619594706888, -0.78018447345840702, 1, 1},
    {2.6463618161103897, -1.0278324117522439, -1.3189495788643573, 0.44155171106749169,
     -9.6181231325050209, 8.653891943924874, -12.409462380497713, -1.0173423576702165,
     -1.5135473261710177, 0.60434206501049459, -9.8294358174615102, -1.0030505828338545,
     -1.6594064656313647, 0.85155262203498039, -3.8824587491243685, 1, 1},
    {0.53440831263953914, 1.0522581209574768, -0.1961920897240455, -0.27604333664030456,
     4.9683621617112266, -18.578703420704159, 30.637175296320557, 1.0441998528892651,
     -0.093271857177659304, -0.47543800105931727, 5.2044859639233501, 1.0344664427614401,
     0.0094700035861296633, -0.47533339397431307, 5.0252544275615669, 1, 0},
    {1.2523923420544856, -1.0263943364516914, 0.001154460332072494, -0.89578770228900151,
     -2.7002768508070321, 61.786715055342057, -140.97295621140728, -1.0347406747095205,
     -0.074359509852726879, -0.067729301177609447, -4.5425010400295784, -1.0323235237022945,
     -0.17301060706376925, 0.25500203934107096, -5.1976042296320646, 1, 0}};

/* clang-format on */

static greatest_test_res check_row(const double *x) {
    const inverted_pendulum start = state_of(x + 1);
    const double force = 100 * fmin(fmax(x[0], -3), 3);
    inverted_pendulum sub = start, ctl = start, task = start;
    const rn_env env = inverted_pendulum_env(&task);
    double dv, dspin, reward = 0;
    rn_real act = (rn_real)x[0], obs[4];
    accelerate(&start, force, &dv, &dspin, NULL);
    ASSERT(difference(dv, x[5]) <= 1e-12);
    ASSERT(difference(dspin, x[6]) <= 1e-12);
    physics(&sub, x[0]);
    ASSERT(distance(&sub, x + 7) <= 1e-12);
    ASSERT_EQ((int)x[16], move(&ctl, x[0]) == RN_TERMINATED);
    ASSERT(distance(&ctl, x + 11) <= 1e-11);
    ASSERT_EQ((int)x[16], env.step(env.self, &act, NULL, obs, &reward) == RN_TERMINATED);
    ASSERT(reward == x[15]);
    ASSERT(distance(&task, x + 11) <= 1e-11 + 20 * EPS); /* the action was rounded */
    PASS();
}

TEST kept_rows(void) {
    for (size_t i = 0; i < sizeof rows_kept / sizeof rows_kept[0]; i++)
        CHECK_CALL(check_row(rows_kept[i]));
    PASS();
}

/* row, the columns of above, three counts */
static greatest_test_res check_rows(FILE *f) {
    char line[LINE];
    double x[MAX_FIELDS];
    size_t count = 0;
    while (fgets(line, LINE, f)) {
        if (numbers(line, x, MAX_FIELDS) != ROW + 4) continue;
        CHECK_CALL(check_row(x + 1));
        count++;
    }
    ASSERT_EQ(300, (int)count);
    PASS();
}

TEST all_rows(void) {
    FILE *f = fopen(REFERENCE "onestep.csv", "r");
    if (!f) SKIPm("no reference files beside the project");
    {
        const greatest_test_res res = check_rows(f);
        fclose(f);
        return res;
    }
}

/* how far MuJoCo drifts from its own file under noise of rounding size, up to the steps of
   `mark` */
enum { MARKS = 6, FILES = 6 };

static const size_t mark[MARKS] = {1, 10, 20, 50, 100, 200};

/* clang-format off */
static const double drift[FILES][MARKS] = {
    {2e-13, 6e-13, 3e-12, 1e-10, 1e-10, 1e-10}, {1e-13, 1e-12, 4e-12, 4e-12, 4e-12, 1e-10},
    {2e-13, 9e-13, 4e-12, 1e-11, 4e-11, 1e-08}, {2e-13, 4e-12, 4e-12, 4e-12, 8e-12, 2e-11},
    {2e-13, 6e-13, 3e-12, 8e-10, 7e-06, 6e+00}, {1e-13, 4e-12, 4e-12, 4e-12, 4e-12, 1e-11}};

/* clang-format on */

/* columns: step, ctrl, state, reward, terminated, three counts */
static greatest_test_res check_trajectory(FILE *f, const double *allowed) {
    char line[LINE];
    double x[MAX_FIELDS], off = 0;
    size_t t = 0, m = 0;
    inverted_pendulum free_run, row_run;
    memset(&free_run, 0, sizeof free_run);
    memset(&row_run, 0, sizeof row_run);
    while (fgets(line, LINE, f)) {
        if (numbers(line, x, MAX_FIELDS) != 11) continue;
        if (t == 0) {
            free_run = state_of(x + 2);
        } else {
            ASSERT_EQ((int)x[7], move(&row_run, x[1]) == RN_TERMINATED);
            ASSERT(x[6] == 1);
            ASSERT(distance(&row_run, x + 2) <= 1e-11);
            (void)move(&free_run, x[1]);
            off = worse(off, distance(&free_run, x + 2));
            if (t > mark[m]) m++;
            ASSERT(off <= 10 * allowed[m]);
        }
        row_run = state_of(x + 2);
        t++;
    }
    ASSERT_EQ(201, (int)t);
    PASS();
}

TEST trajectories(void) {
    for (int k = 0; k < FILES; k++) {
        char name[128];
        FILE *f;
        greatest_test_res res;
        snprintf(name, sizeof name, REFERENCE "%d.csv", k);
        f = fopen(name, "r");
        if (!f) SKIPm("no reference files beside the project");
        res = check_trajectory(f, drift[k]);
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

/* ---- mechanics, written from the positions of the masses, not from the header's formulas */
static const double CART = 10.471975511965979, POLE = 5.0185916413633063,
                    INERTIA = 0.18874976687308845;
static const double LEAN = 0.0005, HALF = 0.3, GRAVITY = 9.81, RIGHT_ANGLE = 1.5707963267948966;

static double energy(const inverted_pendulum *p) {
    const double px = LEAN * cos(p->q[1]) + HALF * sin(p->q[1]),
                 pz = HALF * cos(p->q[1]) - LEAN * sin(p->q[1]);
    const double vx = p->v[0] + pz * p->v[1], vz = -px * p->v[1];
    return 0.5 * (CART * p->v[0] * p->v[0] + POLE * (vx * vx + vz * vz) +
                  INERTIA * p->v[1] * p->v[1]) +
           POLE * GRAVITY * pz;
}

/* to friction, which is 1 on both joints */
static double loss(const inverted_pendulum *p) { return p->v[0] * p->v[0] + p->v[1] * p->v[1]; }

/* dE/dt = force v - friction: the state goes a little forward and back along its own motion */
TEST power(void) {
    const double e = 1e-5;
    rng r = rng_make(1);
    for (int i = 0; i < 1000; i++) {
        const inverted_pendulum p = random_state(&r, 0.99, 1.57, 4);
        const double force = between(&r, -300, 300);
        inverted_pendulum side[2];
        double dv, dspin;
        accelerate(&p, force, &dv, &dspin, NULL);
        for (int k = 0; k < 2; k++) {
            const double h = k ? e : -e;
            side[k] = p;
            side[k].q[0] += h * p.v[0] + h * h / 2 * dv;
            side[k].q[1] += h * p.v[1] + h * h / 2 * dspin;
            side[k].v[0] += h * dv;
            side[k].v[1] += h * dspin;
        }
        ASSERT_IN_RANGE(force * p.v[0] - loss(&p), (energy(&side[1]) - energy(&side[0])) / (2 * e),
                        1e-5);
        /* dE/dt alone would not see a force across the motion: at rest, the push on the pole is
           gravity's */
        side[0] = p;
        side[0].v[0] = side[0].v[1] = 0;
        accelerate(&side[0], force, &dv, &dspin, NULL);
        {
            const double c = cos(p.q[1]), s = sin(p.q[1]), px = LEAN * c + HALF * s,
                         pz = HALF * c - LEAN * s;
            const double inertia = INERTIA + POLE * (px * px + pz * pz);
            ASSERT_IN_RANGE(POLE * GRAVITY * px, POLE * pz * dv + inertia * dspin, 1e-10);
        }
    }
    PASS();
}

/* over a free fall: what is lost is what friction took (Simpson's rule over the two physics steps
   of a control step) */
TEST energy_drift(void) {
    rng r = rng_make(2);
    for (int run = 0; run < 50; run++) {
        inverted_pendulum p = random_state(&r, 0.1, 0.5, 0.5);
        const double start = energy(&p);
        double lost = 0;
        for (int t = 0; t < 60 && fabs(p.q[0]) < 0.9 && fabs(p.q[1]) < 1.3; t++) {
            const double l0 = loss(&p);
            double l1;
            physics(&p, 0);
            l1 = loss(&p);
            physics(&p, 0);
            lost += 0.02 / 3 * (l0 + 4 * l1 + loss(&p));
            ASSERT_IN_RANGE(start, energy(&p) + lost, 2e-5);
        }
        ASSERT(lost > 0);
    }
    PASS();
}

/* mirrored about the upright position of the leaning mass; the rail's stops are mirrored too, the
   pole's are not */
TEST mirror(void) {
    const double tilt = 2 * atan2(LEAN, HALF);
    rng r = rng_make(3);
    size_t at_rail = 0;
    for (int run = 0; run < 50; run++) {
        inverted_pendulum p = random_state(&r, 1.02, 0.5, 1), q;
        q = p;
        q.q[0] = -p.q[0];
        q.v[0] = -p.v[0];
        q.v[1] = -p.v[1];
        q.q[1] = -p.q[1] - tilt;
        for (int t = 0; t < 20 && fabs(p.q[1]) < 1.2; t++) {
            const double ctrl = between(&r, -4, 4);
            (void)move(&p, ctrl);
            (void)move(&q, -ctrl);
            at_rail += fabs(p.q[0]) > 1;
            ASSERT_IN_RANGE(-p.q[0], q.q[0], 1e-12);
            ASSERT_IN_RANGE(-p.q[1] - tilt, q.q[1], 1e-12);
            ASSERT_IN_RANGE(-p.v[0], q.v[0], 1e-12);
            ASSERT_IN_RANGE(-p.v[1], q.v[1], 1e-12);
        }
    }
    ASSERT(at_rail > 10);
    PASS();
}

/* a stop only pushes, and gives way by exactly its softness; without a push the joint comes back
   fast enough alone */
TEST stops(void) {
    rng r = rng_make(4);
    size_t pushed[4] = {0, 0, 0, 0};
    for (int i = 0; i < 20000; i++) {
        const inverted_pendulum p = random_state(&r, 1.2, 2, 3);
        const double force = between(&r, -300, 300);
        planar_stop stop[2];
        const double c = cos(p.q[1]), s = sin(p.q[1]), px = LEAN * c + HALF * s,
                     pz = HALF * c - LEAN * s;
        double a[2], f[2];
        size_t which = 0;
        accelerate(&p, force, &a[0], &a[1], stop);
        f[0] =
            (CART + POLE) * a[0] + POLE * pz * a[1] - POLE * px * p.v[1] * p.v[1] + p.v[0] - force;
        f[1] = POLE * pz * a[0] + (INERTIA + POLE * (px * px + pz * pz)) * a[1] -
               POLE * GRAVITY * px + p.v[1];
        for (size_t j = 0; j < 2; j++) {
            const double push = stop[j].side * f[j], short_of = stop[j].aim - stop[j].side * a[j];
            if (stop[j].side == 0) {
                ASSERT_IN_RANGE(0, f[j], 1e-9);
            } else if (push > 1e-8) {
                ASSERT_IN_RANGE(push / stop[j].push, short_of, 1e-8);
                which |= j + 1;
            } else {
                ASSERT_IN_RANGE(0, push, 1e-8);
                ASSERT(short_of <= 1e-8);
            }
        }
        pushed[which]++;
    }
    for (size_t j = 0; j < 4; j++) ASSERT(pushed[j] > 100);
    PASS();
}

TEST sine_and_cosine(void) {
    rng r = rng_make(5);
    for (int i = 0; i < 100000; i++) {
        const double a = i % 4 ? between(&r, -4, 4) : between(&r, -1000, 1000);
        double s, c;
        env_sincos(a, &s, &c);
        ASSERT(fabs(s - sin(a)) <= (i % 4 ? 3e-16 : 1e-14));
        ASSERT(fabs(c - cos(a)) <= (i % 4 ? 3e-16 : 1e-14));
    }
    PASS();
}

SUITE(mechanics) {
    RUN_TEST(power);
    RUN_TEST(energy_drift);
    RUN_TEST(mirror);
    RUN_TEST(stops);
    RUN_TEST(sine_and_cosine);
}

/* ---- the task */
TEST fresh_starts(void) {
    inverted_pendulum p;
    const rn_env env = inverted_pendulum_env(&p);
    rng r = rng_make(6), copy = r;
    const agg_rng draw = rng_for_library(&r), again = rng_for_library(&copy);
    double low = 0, high = 0;
    rn_real obs[4];
    ASSERT_EQ(4, (int)env.obs_dim);
    ASSERT_EQ(1, (int)env.act_dim);
    ASSERT_EQ(0, (int)env.actions);
    ASSERT(env.act_low == -3 && env.act_high == 3);
    for (int i = 0; i < 1000; i++) {
        double x[4];
        env.reset(env.self, &draw, obs);
        /* qpos first, then qvel */
        for (int k = 0; k < 4; k++) x[k] = 0.02 * rn_draw_uniform(&again) - 0.01;
        /* the line above may be contracted to fma, the header's is not */
        ASSERT(distance(&p, x) <= 1e-17);
        ASSERT(obs[0] == (rn_real)p.q[0] && obs[1] == (rn_real)p.q[1] && obs[2] == (rn_real)p.v[0]);
        ASSERT(obs[3] == (rn_real)p.v[1]);
        for (int k = 0; k < 4; k++) {
            low = fmin(low, x[k]);
            high = fmax(high, x[k]);
        }
    }
    ASSERT(low >= -0.01 && low < -0.0099 && high <= 0.01 && high > 0.0099);
    PASS();
}

/* any number is allowed as an action: NaN is 0, giants are clamped, and the state stays in a sane
   box */
TEST bad_actions(void) {
    static const rn_real acts[] = {
        (rn_real)NAN, 0,  (rn_real)INFINITY, 3, (rn_real)-INFINITY, -3,       REAL_MAX, 3,
        -REAL_MAX,    -3, (rn_real)3.0001,   3, REAL_TINY,          REAL_TINY};
    inverted_pendulum p, q;
    const rn_env bad = inverted_pendulum_env(&p), good = inverted_pendulum_env(&q);
    rng r = rng_make(7);
    double reward;
    rn_real obs[4];
    p = q = random_state(&r, 0.01, 0.01, 0.01);
    for (int t = 0; t < 20000; t++) {
        const size_t i = rng_below(&r, sizeof acts / sizeof acts[0] / 2);
        const rn_step_result a = bad.step(bad.self, &acts[2 * i], NULL, obs, &reward);
        ASSERT(reward == 1);
        ASSERT_EQ(a, good.step(good.self, &acts[2 * i + 1], NULL, obs, &reward));
        ASSERT(same_state(&p, &q));
        ASSERT_EQ(a == RN_TERMINATED, fabs(p.q[1]) > 0.2);
        ASSERT(fabs(p.q[0]) < 2 && fabs(p.q[1]) < 3 && fabs(p.v[0]) < 100 && fabs(p.v[1]) < 100);
    }
    PASS();
}

TEST states_that_are_not_finite_end(void) {
    static const double bad[3] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 12; i++) {
        double x[4] = {0, 0, 0, 0};
        inverted_pendulum p;
        x[i % 4] = bad[i / 4];
        p = state_of(x);
        ASSERT_EQ(RN_TERMINATED, move(&p, 0));
    }
    PASS();
}

/* balanced by hand for ten thousand steps, as the trainer would cut it: it runs on, and ends only
   if it falls */
TEST it_can_be_balanced(void) {
    inverted_pendulum p;
    rng r = rng_make(8);
    p = random_state(&r, 0.01, 0.01, 0.01);
    for (int t = 0; t < 10000; t++)
        ASSERT_EQ(RN_RUNNING, move(&p, 0.3 * p.q[0] + 3.8 * p.q[1] + 0.5 * p.v[0] + 0.8 * p.v[1]));
    for (int t = 0; move(&p, 0) == RN_RUNNING; t++) ASSERT(t < 1000);
    ASSERT(fabs(p.q[1]) > 0.2);
    PASS();
}

/* 500 control steps that touch every stop. All states go into the sum, as the stops soon make runs
   forget a lost bit. The same from every compiler, optimisation and precision. */
TEST same_bits_everywhere(void) {
    const double start[4] = {0.0078125, -0.00390625, 0.015625, 0.03125};
    inverted_pendulum p = state_of(start);
    unsigned char bytes[32];
    uint64_t sum = 0;
    int both = 0;
    for (int t = 0; t < 500; t++) {
        (void)move(&p, (t * t / 7 % 13 - 6) * 0.625);
        both += fabs(p.q[0]) > 1 && fabs(p.q[1]) > RIGHT_ANGLE;
        planar_save(&p, bytes);
        for (int k = 0; k < 32; k++) sum = (sum ^ bytes[k]) * UINT64_C(0x100000001b3);
    }
    ASSERT(both > 10);
    if (sum != UINT64_C(0xfc551d35ffed2d34)) printf("sum: 0x%016llx\n", (unsigned long long)sum);
    ASSERT(sum == UINT64_C(0xfc551d35ffed2d34));
    PASS();
}

TEST saving(void) {
    static const double refused[5] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1000.5,
                                      -1e300};
    inverted_pendulum p, q;
    const rn_env a = inverted_pendulum_env(&p), b = inverted_pendulum_env(&q);
    unsigned char bytes[33], one[8] = {0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
    rng r = rng_make(9);
    ASSERT_EQ(32, (int)a.state_size);
    for (int run = 0; run < 100; run++) {
        p = random_state(&r, 1.02, 1.6, 3);
        q = random_state(&r, 1, 1, 1);
        bytes[32] = 77;
        a.save(a.self, bytes);
        ASSERT_EQ(77, bytes[32]);
        ASSERT(b.load(b.self, bytes));
        for (int t = 0; t < 20; t++) {
            (void)move(&p, t % 5 - 2.5);
            (void)move(&q, t % 5 - 2.5);
        }
        ASSERT(same_state(&p, &q));
    }
    p.q[0] = p.q[1] = p.v[0] = p.v[1] = 1;
    a.save(a.self, bytes);
    for (int k = 0; k < 4; k++) ASSERT_MEM_EQ(one, &bytes[8 * k], 8); /* little-endian */
    for (int i = 0; i < 20; i++) {
        double x[4] = {0.1, 0.2, 0.3, 0.4};
        const inverted_pendulum before = q;
        x[i % 4] = refused[i / 4];
        p = state_of(x);
        a.save(a.self, bytes);
        ASSERT_FALSE(b.load(b.self, bytes));
        ASSERT(same_state(&before, &q));
    }
    PASS();
}

/* a trainer broken off in the middle of trajectories goes on with the same bits */
enum { AGENTS = 3 };

typedef struct crew {
    inverted_pendulum poles[AGENTS];
    rn_net net;
    rn_trainer *trainer;
} crew;

static rn_status crew_make(crew *c) {
    rn_env envs[AGENTS];
    rn_net_desc shape = rn_make_net_desc(4, 1);
    rn_trainer_desc d;
    shape.hidden[0] = 5;
    shape.gaussian = 1;
    for (int i = 0; i < AGENTS; i++) envs[i] = inverted_pendulum_env(&c->poles[i]);
    d = rn_make_trainer_desc(AGENTS, 1, envs, rn_make_net_policy(&c->net, &shape));
    d.seed = 5;
    return rn_trainer_create(&c->trainer, &d);
}

static greatest_test_res broken_off(crew *a, crew *b, void **bytes) {
    size_t size, dim = a->net.dim;
    for (int round = 0; round < 3; round++) ASSERT_EQ(RN_OK, rn_trainer_run_round(a->trainer));
    ASSERT_EQ(RN_MORE, rn_trainer_tick(a->trainer, 7, NULL));
    size = rn_trainer_save_size(a->trainer);
    *bytes = need(malloc(size));
    ASSERT_EQ(RN_OK, rn_trainer_save(a->trainer, *bytes, size));
    ASSERT_EQ(RN_OK, rn_trainer_load(b->trainer, *bytes, size));
    for (int round = 0; round < 3; round++) {
        ASSERT_EQ(RN_OK, rn_trainer_run_round(a->trainer));
        ASSERT_EQ(RN_OK, rn_trainer_run_round(b->trainer));
    }
    ASSERT_MEM_EQ(rn_trainer_theta(a->trainer), rn_trainer_theta(b->trainer),
                  dim * sizeof(rn_real));
    PASS();
}

TEST trainer_broken_off(void) {
    static crew a, b;
    void *bytes = NULL;
    greatest_test_res res;
    ASSERT_EQ(RN_OK, crew_make(&a));
    ASSERT_EQ(RN_OK, crew_make(&b));
    res = broken_off(&a, &b, &bytes);
    free(bytes);
    rn_trainer_destroy(a.trainer);
    rn_trainer_destroy(b.trainer);
    return res;
}

SUITE(task) {
    RUN_TEST(fresh_starts);
    RUN_TEST(bad_actions);
    RUN_TEST(states_that_are_not_finite_end);
    RUN_TEST(it_can_be_balanced);
    RUN_TEST(same_bits_everywhere);
    RUN_TEST(saving);
    RUN_TEST(trainer_broken_off);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(mujoco);
    RUN_SUITE(mechanics);
    RUN_SUITE(task);
    GREATEST_MAIN_END();
}
