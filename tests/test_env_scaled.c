/* Observations in units of their own (examples/envs/scaled.h): right numbers, the same for all who
   share them, saved and resumed with the same bits, nothing from an enemy's bytes. */
#include "implementation.h"
#include "resnharpg.h"
#include "examples/envs/cartpole.h"
#include "examples/envs/scaled.h"
#include "greatest.h"
#include "common.h"

enum { STEPS = 400 };

typedef struct stand {
    cartpole pole;
    scaled scaled;
    rn_env env;
} stand;

static void stand_make(stand *s, int learns) {
    s->env = scaled_env(&s->scaled, cartpole_env(&s->pole));
    s->scaled.learns = learns;
}

/* plays on; what was seen raw goes to `raw` if it is not NULL */
static void play(stand *s, rn_random *random, int steps, rn_real *obs, double (*raw)[4]) {
    const agg_rng draws = rn_random_rng(random);
    double reward;
    for (int t = 0; t < steps; t++) {
        const rn_real act = (rn_real)rn_draw_below(&draws, 2);
        if (s->pole.steps == 0 && t == 0) s->env.reset(s->env.self, &draws, obs);
        if (s->env.step(s->env.self, &act, &draws, obs, &reward) != RN_RUNNING)
            s->env.reset(s->env.self, &draws, obs);
        if (!raw) continue;
        raw[t][0] = s->pole.x;
        raw[t][1] = s->pole.v;
        raw[t][2] = s->pole.angle;
        raw[t][3] = s->pole.spin;
    }
}

/* mean and deviation of all that was seen, and x less the one by the other */
TEST units_are_mean_and_deviation(void) {
    static double seen[STEPS][4];
    static stand s;
    rn_random r = rn_make_random(3, 0);
    rn_real obs[4];
    stand_make(&s, 0);
    s.scaled.learns = 0;
    play(&s, &r, 1, obs, seen);
    ASSERT(fabs((double)obs[0] - seen[0][0]) < 1e-7); /* no units yet */
    for (int t = 0; t < STEPS; t++) {
        rn_real x[4];
        play(&s, &r, 1, obs, &seen[t]);
        for (int k = 0; k < 4; k++) x[k] = (rn_real)seen[t][k];
        scaled_learn(&s.scaled, x);
    }
    play(&s, &r, 1, obs, seen + 0); /* overwrites one: leave it out below */
    for (int k = 0; k < 4; k++) {
        const double sd = sqrt(s.scaled.squares[k] / s.scaled.n);
        const double raw = seen[0][k], want = (raw - s.scaled.mean[k]) / sd;
        double mean = 0, var = 0;
        for (int t = 1; t < STEPS; t++) mean += seen[t][k] / (STEPS - 1);
        for (int t = 1; t < STEPS; t++) var += (seen[t][k] - mean) * (seen[t][k] - mean);
        ASSERT(fabs(sd - sqrt(var / (STEPS - 1))) < 0.02 * sd);
        ASSERT(fabs(s.scaled.mean[k] - mean) < 0.02 * sd);
        ASSERT(fabs((double)obs[k] - fmax(-10, fmin(10, want))) < 1e-5);
    }
    PASS();
}

TEST measured_units_can_be_shared(void) {
    static stand a, b;
    rn_random ra = rn_make_random(9, 0), rb = ra;
    rn_real x[4], y[4];
    stand_make(&a, 0);
    stand_make(&b, 0);
    scaled_measure(&a.scaled, 10, 100, 1);
    scaled_copy(&b.scaled, &a.scaled);
    ASSERT(a.scaled.n > 100);
    memset(&a.pole, 0, sizeof a.pole);
    memset(&b.pole, 0, sizeof b.pole);
    play(&a, &ra, 300, x, NULL);
    play(&b, &rb, 300, y, NULL);
    ASSERT(same_bits(x, y, 4));
    scaled_measure(&b.scaled, 0, 100, 1);
    ASSERT_EQ(0, memcmp(a.scaled.mean, b.scaled.mean, sizeof a.scaled.mean)); /* they stay */
    PASS();
}

TEST saved_and_resumed(int learns) {
    static stand a, b;
    unsigned char bytes[256];
    rn_random ra = rn_make_random(4, 0), rb;
    rn_real x[4], y[4];
    stand_make(&a, learns);
    stand_make(&b, learns);
    scaled_measure(&a.scaled, 2, 100, 1);
    memset(&a.pole, 0, sizeof a.pole);
    play(&a, &ra, 55, x, NULL);
    ASSERT(a.env.state_size <= sizeof bytes);
    a.env.save(a.env.self, bytes);
    rb = ra;
    ASSERT(b.env.load(b.env.self, bytes));
    play(&a, &ra, 200, x, NULL);
    play(&b, &rb, 200, y, NULL);
    ASSERT(same_bits(x, y, 4));
    ASSERT_EQ(0, memcmp(a.scaled.squares, b.scaled.squares, sizeof a.scaled.squares));
    PASS();
}

TEST forged_units_are_refused(void) {
    static const double wrong[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e101, -1};
    static stand a;
    scaled before;
    unsigned char bytes[256], good[256];
    const size_t at = cartpole_env(&a.pole).state_size;
    stand_make(&a, 1);
    scaled_measure(&a.scaled, 2, 100, 1);
    a.env.save(a.env.self, good);
    before = a.scaled;
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 9; k++) {
            const int is_mean = k >= 1 && k < 5;
            memcpy(bytes, good, sizeof bytes);
            env_put(&wrong[i], 1, bytes + at + 8 * k);
            ASSERT_EQ(i == 4 && is_mean, a.env.load(a.env.self, bytes));
            if (i < 4) ASSERT_EQ(0, memcmp(before.mean, a.scaled.mean, sizeof before.mean));
        }
    memcpy(bytes, good, sizeof bytes);
    env_put(&wrong[0], 1, bytes); /* the pole's own */
    ASSERT_FALSE(a.env.load(a.env.self, bytes));
    PASS();
}

TEST odd_environments(void) {
    static stand a;
    rn_env e = cartpole_env(&a.pole);
    e.state_size = 0;
    e.save = NULL;
    e.load = NULL;
    ASSERT_EQ((size_t)0, scaled_env(&a.scaled, e).state_size);
    e.obs_dim = SCALED_MOST + 1;
    ASSERT_EQ((size_t)0, scaled_env(&a.scaled, e).obs_dim);
    PASS();
}

SUITE(units) {
    RUN_TEST(units_are_mean_and_deviation);
    RUN_TEST(measured_units_can_be_shared);
    for (int learns = 0; learns < 2; learns++) RUN_TESTp(saved_and_resumed, learns);
    RUN_TEST(forged_units_are_refused);
    RUN_TEST(odd_environments);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(units);
    GREATEST_MAIN_END();
}
