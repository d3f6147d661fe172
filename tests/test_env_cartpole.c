/* examples/envs/cartpole.h against trajectories of Gymnasium's CartPole-v1, to the last bit; and a
   short training run: with 3 of 10 agents Byzantine, MDA learns and the mean does not. */
#include "implementation.h"
#include "resnharpg.h"
#include "examples/envs/cartpole.h"
#include "examples/envs/uneven_cartpole.h"
#include "greatest.h"
#include "common.h"

#define REFERENCE "../shared/reference/cartpole_%d.csv" /* compared in full if it is there */

/* clang-format off */

/* single steps out of those files: state, action, next state, terminated */
static const struct { double from[4]; int right; double to[4]; int terminated; } steps[] = {
    { { 0.033498163050200896, 0.0096554026967887313,
        -0.021113675830879641, -0.045704842930578859 }, 0,
      { 0.033691271104136673, -0.1851575269436358,
        -0.022027772689491219, 0.24024246059487492 }, 0 },
    { { -0.10519321384712657, -1.7483830038512262,
        0.18054954681264793, 2.6632143740636156 }, 0,
      { -0.14016087392415111, -1.9443334881424095,
        0.23381383429392025, 3.0051560276528302 }, 1 },
    { { 0.016387137992197091, -0.21848517785218732,
        0.085830958980256014, 0.50875424000962255 }, 1,
      { 0.012017434435153344, -0.02467070280715597,
        0.096006043780448469, 0.24430606688578316 }, 0 },
    { { -0.03400088549956963, 0.0085943514840227317,
        0.03238367771828464, -0.020273976323970377 }, 1,
      { -0.033828998469889175, 0.20323728041347405,
        0.031978198191805231, -0.30256615393503178 }, 0 },
    { { -0.12218522124557113, -1.1746048455070521,
        0.19407620041313184, 2.0419220421815205 }, 1,
      { -0.14567731815571217, -0.98193672104204943,
        0.23491464125676226, 1.8150463969341888 }, 1 },
    { { -0.049762883843636224, -0.61129224295456897,
        0.011020151592598114, 0.87784231645451061 }, 0,
      { -0.061988728702727605, -0.80656220644330945,
        0.028576997921688323, 1.1739693351219751 }, 0 },
    { { 0.033856481236953562, 0.019214814862734714,
        -0.02839111717731754, -0.037458810205905815 }, 0,
      { 0.034240777534208254, -0.17548874334775502,
        -0.029140293381435655, 0.24613296146630076 }, 0 },
    { { -1.5345011670277975, -0.16448938635542792,
        -0.0059277880550873572, 0.0033651309421297571 }, 0,
      { -1.537790954754906, -0.35952582501973296,
        -0.005860485436244762, 0.29417188948088835 }, 0 },
    { { -0.39327255578641768, 0.057119569701908485,
        0.0023974401776352631, -0.17522459141323499 }, 0,
      { -0.39213016439237952, -0.13803661029603959,
        -0.0011070516506294366, 0.11821368404388199 }, 0 },
    { { 0.04824078554633357, -0.045959984710634283,
        -0.037721331016906418, -0.0035734536872534667 }, 0,
      { 0.047321585852120887, -0.24052122328817466,
        -0.037792800090651488, 0.27697335658315464 }, 0 },
    { { 0.098977244239504061, -0.2409573793111969,
        0.001935344380912868, 0.28635639645613647 }, 0,
      { 0.094158096653280121, -0.43610687782098717,
        0.0076624723100355979, 0.57964908690597783 }, 0 },
    { { 0.5673847635364051, 0.55296470014894816,
        0.019789829367013328, -0.18906896690657782 }, 0,
      { 0.5784440575393841, 0.3575652967514108,
        0.016008450028881772, 0.1097905758549384 }, 0 },
};

/* clang-format on */

static int equal(const cartpole *p, const double *x) {
    return memcmp(&p->x, &x[0], 8) == 0 && memcmp(&p->v, &x[1], 8) == 0 &&
           memcmp(&p->angle, &x[2], 8) == 0 && memcmp(&p->spin, &x[3], 8) == 0;
}

static cartpole pole_at(const double *x) {
    cartpole p;
    p.x = x[0];
    p.v = x[1];
    p.angle = x[2];
    p.spin = x[3];
    p.steps = 0;
    return p;
}

TEST single_steps_to_the_last_bit(void) {
    size_t ended = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        cartpole p = pole_at(steps[i].from);
        const rn_env e = cartpole_env(&p);
        const rn_real act = (rn_real)steps[i].right;
        rn_real obs[4];
        double reward = 0;
        const rn_step_result r = e.step(e.self, &act, NULL, obs, &reward);
        if (!equal(&p, steps[i].to)) FAILm(WHY("row %u", (unsigned)i));
        ASSERT_EQ(steps[i].terminated ? RN_TERMINATED : RN_RUNNING, r);
        ASSERT(reward >= 1 && reward <= 1);
        for (int k = 0; k < 4; k++)
            ASSERT(obs[k] >= (rn_real)steps[i].to[k] && obs[k] <= (rn_real)steps[i].to[k]);
        ended += r == RN_TERMINATED;
    }
    ASSERT(ended >= 2);
    PASS();
}

TEST whole_trajectories_to_the_last_bit(void) {
    int files = 0;
    for (int k = 0; k < 8; k++) {
        char name[64], line[512];
        cartpole p;
        FILE *f;
        int row = 0;
        snprintf(name, sizeof name, REFERENCE, k);
        f = fopen(name, "r");
        if (!f) continue;
        files++;
        while (fgets(line, sizeof line, f)) {
            double x[9]; /* step, action, the state, reward, terminated, truncated */
            char *at = line;
            if (line[0] < '0' || line[0] > '9') continue;
            for (int i = 0; i < 9; i++) {
                x[i] = strtod(at, &at);
                if (*at == ',') at++;
            }
            if (row++ == 0) {
                p = pole_at(x + 2);
            } else {
                const rn_step_result r = cartpole_move(&p, x[1] > 0);
                if (!equal(&p, x + 2)) {
                    fclose(f);
                    FAILm(WHY("%s, row %d", name, row - 1));
                }
                if ((r == RN_TERMINATED) != (x[7] > 0) || (r == RN_TRUNCATED) != (x[8] > 0)) {
                    fclose(f);
                    FAILm(WHY("%s, row %d: result %d", name, row - 1, (int)r));
                }
            }
        }
        fclose(f);
        if (row < 2) FAILm(WHY("%s is empty", name));
    }
    if (!files) SKIPm("no reference files beside the project");
    PASS();
}

TEST resets_are_small_and_repeat(void) {
    cartpole a, b;
    rn_random one = rn_make_random(4, 0), two = rn_make_random(4, 0);
    const agg_rng r1 = rn_random_rng(&one), r2 = rn_random_rng(&two);
    const rn_env ea = cartpole_env(&a), eb = cartpole_env(&b);
    double most = 0;
    rn_real obs[4];
    for (int i = 0; i < 200; i++) {
        ea.reset(&a, &r1, obs);
        eb.reset(&b, &r2, obs);
        ASSERT(fabs(a.x) <= 0.05 && fabs(a.v) <= 0.05 && fabs(a.angle) <= 0.05 &&
               fabs(a.spin) <= 0.05);
        ASSERT(a.x >= b.x && a.x <= b.x && a.spin >= b.spin && a.spin <= b.spin);
        if (fabs(a.spin) > most) most = fabs(a.spin);
    }
    ASSERT(most > 0.045);
    PASS();
}

TEST poles_can_be_saved(void) {
    cartpole p = pole_at(steps[0].from), q, before;
    const rn_env e = cartpole_env(&p);
    unsigned char bytes[64], nan_bytes[64];
    const double nan_ = (double)NAN;
    ASSERT_EQ((size_t)36, e.state_size);
    p.steps = 321;
    memset(bytes, CANARY, sizeof bytes);
    e.save(&p, bytes);
    for (size_t i = 36; i < sizeof bytes; i++) ASSERT_EQ(CANARY, bytes[i]);
    memset(&q, 0, sizeof q);
    ASSERT(e.load(&q, bytes));
    ASSERT(equal(&q, steps[0].from) && q.steps == 321);
    before = q;
    memcpy(nan_bytes, bytes, sizeof bytes);
    memcpy(nan_bytes + 8, &nan_, 8);
    ASSERT(!e.load(&q, nan_bytes));
    memcpy(nan_bytes, bytes, sizeof bytes);
    nan_bytes[34] = 1; /* 65536 steps and more */
    ASSERT(!e.load(&q, nan_bytes));
    ASSERT(equal(&q, steps[0].from) && q.steps == before.steps);
    PASS();
}

/* uneven_cartpole.h with Gym's numbers is cartpole.h; with others each number matters */
TEST uneven_poles_are_even_with_gyms_numbers(void) {
    static const double worlds[4][3] = {{0.5, 10, 0}, {0.25, 10, 0}, {0.5, 14, 0}, {0.5, 10, 0.5}};
    uneven_cartpole u[4];
    cartpole p = pole_at(steps[0].from);
    rn_random random = rn_make_random(6, 0);
    const agg_rng draws = rn_random_rng(&random);
    double reward[4];
    rn_real obs[4];
    for (int w = 0; w < 4; w++) {
        const rn_env e = uneven_cartpole_env(&u[w], worlds[w][0], worlds[w][1], worlds[w][2]);
        u[w].pole = pole_at(steps[0].from);
        for (int t = 0; t < 8; t++) {
            const rn_real act = (rn_real)(t % 2);
            ASSERT_EQ(RN_RUNNING, e.step(e.self, &act, &draws, obs, &reward[w]));
            if (w == 0) (void)cartpole_move(&p, t % 2);
        }
    }
    const double now[4] = {p.x, p.v, p.angle, p.spin};
    ASSERT(equal(&u[0].pole, now) && equal(&u[3].pole, now));
    ASSERT(!equal(&u[1].pole, now) && !equal(&u[2].pole, now));
    ASSERT(reward[0] >= 1 && reward[0] <= 1);
    ASSERT(fabs(reward[3] - 1) > 1e-6);
    PASS();
}

/* ---- the recipe of rn_make_trainer_desc(): half of its 100 rounds, which is enough; the best of
   the evaluations after every tenth */
static double train(agg_rule rule, uint64_t seed, rn_real *theta) {
    static cartpole poles[11];
    rn_env envs[11];
    rn_net net;
    rn_net_desc shape = rn_make_net_desc(4, 2);
    rn_trainer *t = NULL;
    rn_trainer_desc d;
    double best = 0;
    for (int i = 0; i < 11; i++) envs[i] = cartpole_env(&poles[i]);
    shape.hidden[0] = shape.hidden[1] = 16;
    d = rn_make_trainer_desc(10, 3, envs, rn_make_net_policy(&net, &shape));
    d.server.agg.rule = rule;
    if (rule == AGG_MEAN) d.server.agg.f = 0;
    d.adversaries = 3; /* sign flipping */
    d.seed = seed;
    if (rn_trainer_create(&t, &d) != RN_OK) abort();
    for (int i = 1; i <= 50; i++) {
        double score = 0;
        if (rn_trainer_run_round(t) != RN_OK) abort();
        if (i % 10 == 0 && rn_trainer_evaluate(t, &envs[10], 20, &score) != RN_OK) abort();
        if (score > best) best = score;
    }
    memcpy(theta, rn_trainer_theta(t), d.policy.dim * sizeof *theta);
    rn_trainer_destroy(t);
    return best;
}

/* a whole run takes long: the first one is kept for the test that repeats it */
typedef struct trained {
    double best;
    rn_real theta[386];
} trained;

static const trained *first_run(void) {
    static trained t;
    if (!(t.best > 0)) t.best = train(AGG_MDA, 0, t.theta);
    return &t;
}

TEST mda_learns_and_the_mean_does_not(uint64_t seed) {
    trained t;
    const double mda = seed ? train(AGG_MDA, seed, t.theta) : first_run()->best,
                 mean = train(AGG_MEAN, seed, t.theta);
    if (GREATEST_IS_VERBOSE()) printf("    seed %u: MDA %g, mean %g\n", (unsigned)seed, mda, mean);
    if (!(mda >= 475)) FAILm(WHY("seed %u: MDA reaches %g", (unsigned)seed, mda));
    if (!(mean < 100)) FAILm(WHY("seed %u: the mean reaches %g", (unsigned)seed, mean));
    PASS();
}

TEST training_repeats_to_the_bit(void) {
    const trained *one = first_run();
    trained two;
    two.best = train(AGG_MDA, 0, two.theta);
    ASSERT(one->best >= two.best && one->best <= two.best);
    ASSERT(same_bits(one->theta, two.theta, 386));
    PASS();
}

SUITE(environment) {
    RUN_TEST(single_steps_to_the_last_bit);
    RUN_TEST(whole_trajectories_to_the_last_bit);
    RUN_TEST(resets_are_small_and_repeat);
    RUN_TEST(poles_can_be_saved);
    RUN_TEST(uneven_poles_are_even_with_gyms_numbers);
}

TEST learning_is_slow(void) { SKIPm("TEST_QUICK is set: no training of 50 rounds"); }

SUITE(learning) {
    if (getenv("TEST_QUICK")) {
        RUN_TEST(learning_is_slow);
        return;
    }
    RUN_TESTp(mda_learns_and_the_mean_does_not, 0);
    RUN_TESTp(mda_learns_and_the_mean_does_not, 4);
    RUN_TEST(training_repeats_to_the_bit);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(environment);
    RUN_SUITE(learning);
    GREATEST_MAIN_END();
}
