/* Saving and loading in resnharpg.h: a run broken off anywhere goes on with the same bits; damaged,
   foreign and hostile bytes are refused with a status and change nothing. */
#include "implementation.h"
#include "resnharpg.h"
#include "greatest.h"
#include "common.h"
#include "tiny.h"
#include "saved.h"

enum { N = TEAM, ROUNDS = 6, DIM = 32 };

/* ---- resuming */
/* the run is broken off after every `budget` steps (0: after whole rounds), and each time another
   trainer goes on */
TEST resumed_runs_keep_the_bits(int kind, size_t budget) {
    static setup one, two;
    rn_trainer *unbroken, *now;
    setup_make(&one, kind);
    ASSERT_EQ(RN_OK, rn_trainer_create(&unbroken, &one.d));
    setup_make(&two, kind);
    ASSERT_EQ(RN_OK, rn_trainer_create(&now, &two.d));
    for (int round = 0; round < ROUNDS; round++) {
        rn_status s = RN_MORE;
        bytes a, b;
        while (s == RN_MORE) {
            const bytes state = saved(now);
            rn_trainer_destroy(now);
            setup_make(&two, kind); /* the environments too are new */
            two.walks[0].state = 1; /* and not in the state of the old ones */
            ASSERT_EQ(RN_OK, rn_trainer_create(&now, &two.d));
            /* it may have a past */
            for (int i = 0; i < round % 3; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(now));
            if (round % 3 == 2) (void)rn_trainer_tick(now, 3, NULL);
            ASSERT_EQ(RN_OK, rn_trainer_load(now, state.at, state.size));
            if (budget) ASSERT(same_state(now, state));
            free(state.at);
            s = rn_trainer_tick(now, budget ? budget : (size_t)-1, NULL);
            ASSERT(s == RN_OK || s == RN_MORE);
        }
        ASSERT_EQ(RN_OK, rn_trainer_run_round(unbroken));
        ASSERT(same_bits(rn_trainer_theta(unbroken), rn_trainer_theta(now), one.p.policy.dim));
        a = saved(unbroken);
        b = saved(now);
        ASSERT(same(a, b));
        free(a.at);
        free(b.at);
    }
    rn_trainer_destroy(unbroken);
    rn_trainer_destroy(now);
    PASS();
}

/* not a byte of its memory, even after a state was refused at its very end */
TEST saving_changes_nothing(int kind) {
    static setup s;
    static unsigned char block[1 << 18], copy[sizeof block], state[1 << 16];
    rn_trainer *t;
    setup_make(&s, kind);
    memset(block, 0, sizeof block);
    ASSERT_EQ(RN_OK, rn_trainer_init(&t, &s.d, block, sizeof block));
    for (int i = 0; i < 3; i++) {
        bytes longer;
        longer.at = state;
        longer.size = rn_trainer_save_size(t) + 8;
        ASSERT(longer.size > 8 && longer.size <= sizeof state);
        ASSERT_EQ(RN_OK, rn_trainer_save(t, state, sizeof state));
        reseal(longer);
        ASSERT_EQ(RN_ERR_CORRUPT, rn_trainer_load(t, longer.at, longer.size));
        memcpy(copy, block, sizeof block);
        ASSERT_EQ(longer.size - 8, rn_trainer_save_size(t));
        ASSERT_EQ(RN_OK, rn_trainer_save(t, state, sizeof state));
        ASSERT_EQ(RN_OK, rn_agent_save(rn_trainer_agent(t, 0), state, sizeof state));
        ASSERT_EQ(RN_OK, rn_server_save(rn_trainer_server(t), state, sizeof state));
        ASSERT_EQ(0, memcmp(block, copy, sizeof block));
        (void)rn_trainer_tick(t, 14, NULL);
    }
    PASS();
}

TEST agents_and_servers_resume(void) {
    static setup s, other;
    rn_trainer *t, *u;
    rn_real theta[DIM];
    setup_make(&s, RIDGE);
    s.d.server.update = RN_UPDATE_ADAM_NORMALISED;
    setup_make(&other, RIDGE);
    other.d.server.update = RN_UPDATE_ADAM_NORMALISED;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(RN_OK, rn_trainer_create(&u, &other.d));
    for (int i = 0; i < 3; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    {
        const size_t size = rn_server_save_size(rn_trainer_server(t));
        unsigned char *b = (unsigned char *)need(malloc(size));
        ASSERT_EQ(RN_ERR_MEMORY, rn_server_save(rn_trainer_server(t), b, size - 1));
        ASSERT_EQ(RN_OK, rn_server_save(rn_trainer_server(t), b, size));
        ASSERT_EQ(RN_OK, rn_server_load(rn_trainer_server(u), b, size));
        /* another kind of thing */
        ASSERT_EQ(RN_ERR_MISMATCH, rn_agent_load(rn_trainer_agent(u, 0), b, size));
        ASSERT_EQ(RN_ERR_MISMATCH, rn_trainer_load(u, b, size));
        free(b);
    }
    for (size_t i = 0; i < N; i++) {
        const size_t size = rn_agent_save_size(rn_trainer_agent(t, i));
        unsigned char *b = (unsigned char *)need(malloc(size));
        ASSERT_EQ(RN_ERR_MEMORY, rn_agent_save(rn_trainer_agent(t, i), b, size - 1));
        ASSERT_EQ(RN_OK, rn_agent_save(rn_trainer_agent(t, i), b, size));
        ASSERT_EQ(RN_OK, rn_agent_load(rn_trainer_agent(u, i), b, size));
        ASSERT_EQ(RN_ERR_MISMATCH, rn_server_load(rn_trainer_server(u), b, size));
        free(b);
    }
    for (int i = 0; i < 3; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    memcpy(theta, rn_trainer_theta(t), s.p.policy.dim * sizeof *theta);
    for (int i = 0; i < 3; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(u));
    ASSERT(same_bits(theta, rn_trainer_theta(u), s.p.policy.dim));
    rn_trainer_destroy(t);
    rn_trainer_destroy(u);
    PASS();
}

TEST environments_that_cannot_be_saved(void) {
    static setup s;
    rn_trainer *t;
    unsigned char *b;
    size_t size, refused = 0;
    setup_make(&s, PLAIN);
    for (size_t i = 0; i < N; i++) s.envs[i].state_size = 0;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    size = rn_trainer_save_size(t);
    b = (unsigned char *)need(malloc(2 * size));
    ASSERT_EQ(RN_OK, rn_trainer_save(t, b, size)); /* between rounds they need not */
    ASSERT_EQ(RN_MORE, rn_trainer_tick(t, 2, NULL));
    ASSERT_EQ(RN_ERR_NO_SAVE, rn_trainer_save(t, b, 2 * size));
    for (size_t i = 0; i < N; i++)
        refused += rn_agent_save(rn_trainer_agent(t, i), b + size, size) == RN_ERR_NO_SAVE;
    ASSERT(refused > 0 && refused < N);
    ASSERT_EQ(RN_OK, rn_trainer_load(t, b, size)); /* gives the broken round up */
    ASSERT_EQ((size_t)1, rn_trainer_rounds_done(t));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    free(b);
    rn_trainer_destroy(t);
    PASS();
}

/* ---- damage. The trainer is in the middle of a round, some agents playing, some between two
   trajectories. */
typedef struct victim {
    setup s;
    rn_trainer *t;
    bytes state;
} victim;

static victim v;

static void victim_open(int kind) {
    setup_make(&v.s, kind);
    if (rn_trainer_create(&v.t, &v.s.d) != RN_OK) abort();
    for (int i = 0; i < 2; i++)
        if (rn_trainer_run_round(v.t) != RN_OK) abort();
    if (rn_trainer_tick(v.t, 14, NULL) != RN_MORE) abort();
    v.state = saved(v.t);
}

/* goes on as if nothing had happened */
static int victim_close(int kind) {
    static setup s;
    rn_trainer *t;
    int fine;
    setup_make(&s, kind);
    if (rn_trainer_create(&t, &s.d) != RN_OK) abort();
    while (rn_trainer_rounds_done(t) < ROUNDS) (void)rn_trainer_run_round(t);
    while (rn_trainer_rounds_done(v.t) < ROUNDS) (void)rn_trainer_run_round(v.t);
    fine = same_bits(rn_trainer_theta(t), rn_trainer_theta(v.t), s.p.policy.dim);
    rn_trainer_destroy(t);
    rn_trainer_destroy(v.t);
    free(v.state.at);
    return fine;
}

static int is_refusal(rn_status s) {
    return s == RN_ERR_FORMAT || s == RN_ERR_MISMATCH || s == RN_ERR_CORRUPT;
}

/* the saved state b is tried on a victim that is somewhere else, so that a partial load shows */
TEST damage_is_noticed(int kind) {
    bytes b;
    victim_open(kind);
    b = saved(v.t);
    ASSERT_EQ(RN_OK, rn_trainer_tick(v.t, 5, NULL) == RN_MORE ? RN_OK : RN_ERR_ORDER);
    free(v.state.at);
    v.state = saved(v.t);
    ASSERT(!same(b, v.state));
    for (size_t i = 0; i < b.size; i++) { /* all bits of a byte, or one of them */
        const unsigned char old = b.at[i];
        rn_status s;
        b.at[i] = (unsigned char)(i % 2 ? ~old : old ^ (1 << (i / 2 % 8)));
        s = rn_trainer_load(v.t, b.at, b.size);
        b.at[i] = old;
        if (!is_refusal(s)) FAILm(WHY("byte %u: %s", (unsigned)i, rn_status_text(s)));
        if (i < 16 && s != RN_ERR_FORMAT)
            FAILm(WHY("byte %u of magic: %s", (unsigned)i, rn_status_text(s)));
    }
    ASSERT(same_state(v.t, v.state));
    for (size_t size = 0; size < b.size; size++) {
        /* reading beyond is seen by sanitizers */
        unsigned char *copy = (unsigned char *)need(malloc(size + 1));
        rn_status s;
        memcpy(copy, b.at, size);
        s = rn_trainer_load(v.t, copy, size);
        free(copy);
        if (!is_refusal(s)) FAILm(WHY("%u bytes: %s", (unsigned)size, rn_status_text(s)));
    }
    ASSERT(same_state(v.t, v.state));
    {
        unsigned char *longer = (unsigned char *)need(calloc(b.size + 8, 1));
        memcpy(longer, b.at, b.size);
        for (size_t extra = 1; extra <= 8; extra++)
            ASSERT_EQ(RN_ERR_CORRUPT, rn_trainer_load(v.t, longer, b.size + extra));
        free(longer);
    }
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_load(v.t, NULL, b.size));
    ASSERT_EQ(RN_ERR_ARG, rn_trainer_load(NULL, b.at, b.size));
    ASSERT(same_state(v.t, v.state));
    free(b.at);
    ASSERT(victim_close(kind));
    PASS();
}

/* ---- an enemy who knows the format: damage with a right CRC */
/* little-endian */
static void put_bits(unsigned char *at, uint64_t bits, size_t size) {
    for (size_t i = 0; i < size; i++) at[i] = (unsigned char)(bits >> (8 * i));
}

static void put_double(unsigned char *at, double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    put_bits(at, bits, 8);
}

static void put_real(unsigned char *at, double x) {
#ifdef AGG_DOUBLE
    put_double(at, x);
#else
    const float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    put_bits(at, bits, 4);
#endif
}

/* where a number is stored */
static size_t find(bytes b, const rn_real *x) {
    unsigned char pattern[3 * sizeof(rn_real)];
    for (size_t i = 0; i < 3; i++) put_real(pattern + i * sizeof *x, (double)x[i]);
    for (size_t i = 0; i + sizeof pattern < b.size; i++)
        if (!memcmp(b.at + i, pattern, sizeof pattern)) return i;
    return 0;
}

TEST sealing_is_understood(void) {
    bytes b;
    victim_open(PLAIN);
    b = saved(v.t);
    memset(b.at + b.size - 8, 0, 8);
    reseal(b);
    ASSERT(same(b, v.state));
    ASSERT_EQ(0, memcmp(b.at, "RESRPG01", 8));
    free(b.at);
    ASSERT(victim_close(PLAIN));
    PASS();
}

TEST planted_nan_is_refused(int kind) {
    static const double plants[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    const rn_real *targets[3];
    victim_open(kind);
    targets[0] = rn_trainer_theta(v.t);
    targets[1] = rn_agent_direction(rn_trainer_agent(v.t, 2));
    targets[2] = rn_server_direction(rn_trainer_server(v.t));
    for (size_t k = 0; k < 9; k++) {
        bytes b = saved(v.t);
        const size_t at = find(b, targets[k / 3]);
        ASSERT(at > 0);
        put_real(b.at + at + sizeof(rn_real), plants[k % 3]);
        reseal(b);
        ASSERT_EQ(RN_ERR_CORRUPT, rn_trainer_load(v.t, b.at, b.size));
        free(b.at);
    }
    ASSERT(same_state(v.t, v.state));
    ASSERT(victim_close(kind));
    PASS();
}

/* a state that was taken can be saved a round later, and taken again */
TEST counters_at_their_end(int kind) {
    size_t taken = 0;
    bytes b;
    victim_open(kind);
    b = saved(v.t);
    for (size_t at = 0; at + 16 < b.size; at += 4) {
        bytes f = saved(v.t);
        memcpy(f.at, b.at, b.size);
        put_bits(f.at + at, UINT64_C(0x3fffffffffffffff), 8);
        reseal(f);
        if (rn_trainer_load(v.t, f.at, f.size) == RN_OK) {
            bytes later;
            taken++;
            (void)rn_trainer_run_round(v.t);
            later = saved(v.t);
            ASSERT_EQ(RN_OK, rn_trainer_load(v.t, later.at, later.size));
            free(later.at);
        }
        free(f.at);
        ASSERT_EQ(RN_OK, rn_trainer_load(v.t, b.at, b.size));
    }
    ASSERT(taken > 5);
    free(b.at);
    ASSERT(victim_close(kind));
    PASS();
}

/* counts near their ends, NaN, infinity, the largest number, 4 and -1, as doubles and as floats */
static const uint64_t evil[16] = {
    0,
    1,
    2,
    3,
    5,
    6,
    0x7fffffffu,
    0xffffffffu,
    UINT64_C(0x7fffffffffffffff),
    UINT64_C(0xffffffffffffffff),
    UINT64_C(0x7ff8000000000000),
    UINT64_C(0x7ff0000000000000),
    UINT64_C(0x7fc000007fc00000),
    UINT64_C(0x7fefffffffffffff),
    UINT64_C(0x4010000000000000),
    UINT64_C(0xbff0000000000000),
};

/* what the victim was made to take is there, and it goes on */
TEST taken_state_works(bytes f) {
    const bytes again = saved(v.t);
    ASSERTm("what was taken is not what is there", same(again, f));
    free(again.at);
    ASSERT(all_finite(rn_trainer_theta(v.t), v.s.p.policy.dim));
    for (int i = 0; i < 3; i++) {
        const rn_status s = rn_trainer_run_round(v.t);
        ASSERT(s == RN_OK || s == RN_ERR_AGGREGATE || s == RN_ERR_THETA);
    }
    for (size_t i = 0; i < N; i++)
        ASSERTm("an agent never ends its round", rn_trainer_agent_status(v.t, i) != RN_ERR_ORDER);
    ASSERT(rn_trainer_save_size(v.t) > 0);
    ASSERT(all_finite(rn_trainer_theta(v.t), v.s.p.policy.dim));
    PASS();
}

/* Any bytes with a right CRC: refused and nothing changed, or taken: then theta is finite, the
   state can be saved and loaded again, and the run goes on without hanging or crashing. */
TEST forged_states_do_no_harm(int kind) {
    rng r = rng_make(31 + (uint64_t)kind);
    size_t taken = 0, refused = 0;
    bytes b;
    victim_open(kind);
    b = saved(v.t);
    for (size_t k = 0; k < rounds(3000); k++) {
        const size_t at = rng_below(&r, (b.size - 16) / 4) * 4;
        const uint64_t word = k % 2 ? evil[rng_below(&r, 16)] : rng_next(&r);
        rn_status s;
        bytes f;
        f.size = b.size;
        f.at = (unsigned char *)need(malloc(b.size));
        memcpy(f.at, b.at, b.size);
        put_bits(f.at + at, word, 8);
        reseal(f);
        s = rn_trainer_load(v.t, f.at, f.size);
        if (s == RN_OK) {
            taken++;
            CHECK_CALL(taken_state_works(f));
            ASSERT_EQ(RN_OK, rn_trainer_load(v.t, b.at, b.size));
        } else {
            refused++;
            if (!is_refusal(s)) FAILm(WHY("offset %u: %s", (unsigned)at, rn_status_text(s)));
            if (refused % 16 == 0) ASSERT(same_state(v.t, b));
        }
        free(f.at);
    }
    ASSERT(taken > 10 && refused > 10);
    free(b.at);
    ASSERT(victim_close(kind));
    PASS();
}

/* what no honest run can have: out of range, though finite */
TEST impossible_numbers_are_refused(void) {
    bytes b;
    size_t found = 0;
    victim_open(ADAM);
    b = saved(v.t);
    /* eta = 0.4 of each busy agent: 2 would turn the average around */
    for (size_t i = 32; i + 16 < b.size; i++) {
        unsigned char want[8], put[8];
        put_double(want, 0.4);
        put_double(put, 2);
        if (memcmp(b.at + i, want, 8)) continue;
        found++;
        memcpy(b.at + i, put, 8);
        reseal(b);
        ASSERT_EQ(RN_ERR_CORRUPT, rn_trainer_load(v.t, b.at, b.size));
        memcpy(b.at + i, want, 8);
        reseal(b);
    }
    ASSERT_EQ((size_t)N, found);
    { /* Adam's averages of squares, between the server's direction and average, and the agents */
        const size_t at = find(b, rn_server_direction(rn_trainer_server(v.t))) +
                          2 * v.s.p.policy.dim * sizeof(rn_real);
        ASSERT((b.at[at + sizeof(rn_real) - 1] & 0x80) == 0);
        b.at[at + sizeof(rn_real) - 1] |= 0x80; /* its root would be NaN */
        reseal(b);
        ASSERT_EQ(RN_ERR_CORRUPT, rn_trainer_load(v.t, b.at, b.size));
    }
    free(b.at);
    ASSERT(victim_close(ADAM));
    PASS();
}

/* an environment may refuse its bytes; then the environments before it are put back */
TEST environments_may_refuse(void) {
    bytes b;
    size_t hits = 0;
    victim_open(PLAIN);
    b = saved(v.t);
    (void)rn_trainer_tick(v.t, 3, NULL);
    free(v.state.at);
    v.state = saved(v.t);
    /* the state of a walk: below 3, then its resets, 4 or 5 so far */
    for (size_t i = 40; i + 16 <= b.size; i++) {
        if (b.at[i] < 3 && !b.at[i + 1] && !b.at[i + 2] && !b.at[i + 3] && b.at[i + 4] == 4 &&
            !b.at[i + 5] && !b.at[i + 6] && !b.at[i + 7] && i + 8 < b.size) {
            bytes f;
            rn_status s;
            f.size = b.size;
            f.at = (unsigned char *)need(malloc(b.size));
            memcpy(f.at, b.at, b.size);
            f.at[i] = 3; /* no such state */
            reseal(f);
            s = rn_trainer_load(v.t, f.at, f.size);
            free(f.at);
            if (s == RN_OK) {
                ASSERT_EQ(RN_OK, rn_trainer_load(v.t, v.state.at, v.state.size));
                continue;
            }
            hits++;
            ASSERT_EQ(RN_ERR_CORRUPT, s);
            ASSERT(same_state(v.t, v.state));
        }
    }
    ASSERT(hits >= 2);
    free(b.at);
    ASSERT(victim_close(PLAIN));
    PASS();
}

/* ---- foreign states */
TEST foreign_states_are_refused(void) {
    bytes b;
    victim_open(PLAIN);
    b = saved(v.t);
    {
        unsigned char junk[256];
        memset(junk, 0, sizeof junk);
        ASSERT_EQ(RN_ERR_FORMAT, rn_trainer_load(v.t, junk, sizeof junk));
        memset(junk, 0xff, sizeof junk);
        ASSERT_EQ(RN_ERR_FORMAT, rn_trainer_load(v.t, junk, sizeof junk));
    }
    b.at[7] ^= 3; /* another version */
    reseal(b);
    ASSERT_EQ(RN_ERR_FORMAT, rn_trainer_load(v.t, b.at, b.size));
    b.at[7] ^= 3;
    b.at[8] = (unsigned char)(12 - sizeof(rn_real)); /* another precision */
    reseal(b);
    ASSERT_EQ(RN_ERR_FORMAT, rn_trainer_load(v.t, b.at, b.size));
    ASSERT(same_state(v.t, v.state));
    free(b.at);
    ASSERT(victim_close(PLAIN));
    PASS();
}

/* other sizes or options of the method and the step */
TEST other_descs_are_refused(void) {
    enum { CHANGES = 15 };

    victim_open(RIDGE);
    for (int k = 0; k < CHANGES; k++) {
        static setup s;
        rn_trainer *t;
        bytes before;
        const rn_net_desc wider = net_desc(FEATURES, ACTIONS, 3, 0, RN_TANH);
        setup_make(&s, RIDGE);
        switch (k) {
        case 0: s.d.agents = N - 1; break;
        case 1:
            model_net(&s.p, &wider);
            s.d.policy = s.p.policy;
            break;
        case 2: s.d.method.horizon = 6; break;
        case 3: s.d.method.batch = 2; break;
        case 4: s.d.method.discount = 0.91; break;
        case 5: s.d.method.estimator = RN_REINFORCE; break;
        case 6: s.d.method.baseline = RN_BASELINE_TIME; break;
        case 7: s.d.method.no_hessian = 1; break;
        case 8: s.d.method.causal = 0; break;
        case 9: s.d.method.whiten = 1; break;
        case 10: s.d.method.clip = 1; break;
        case 11: s.d.server.update = RN_UPDATE_PLAIN; break;
        case 12: s.d.server.radius = 9; break;
        case 13: s.d.method.no_memory = 1; break;
        default: s.d.method.forget = 0.5; break;
        }
        ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        before = saved(t);
        if (rn_trainer_load(t, v.state.at, v.state.size) != RN_ERR_MISMATCH)
            FAILm(WHY("change %d is not seen", k));
        ASSERT(same_state(t, before));
        free(before.at);
        rn_trainer_destroy(t);
    }
    ASSERT(victim_close(RIDGE));
    PASS();
}

/* a saved state can be loaded, whatever finite rewards came */
static rn_step_result giant_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                 double *reward) {
    const rn_step_result result = walk_step(self, act, r, obs, reward);
    *reward = (double)REAL_MAX / 4 * (*reward > 0 ? 1 : -1);
    return result;
}

TEST giant_rewards_can_be_saved(rn_baseline baseline) {
    static setup s;
    rn_trainer *t;
    setup_make(&s, PLAIN);
    s.d.method.baseline = baseline;
    s.d.method.discount = 0.01;
    for (size_t i = 0; i < N; i++) s.envs[i].step = giant_step;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    for (int i = 0; i < 5; i++) {
        bytes b;
        (void)rn_trainer_run_round(t);
        b = saved(t);
        ASSERT_EQ(RN_OK, rn_trainer_load(t, b.at, b.size));
        free(b.at);
        (void)rn_trainer_tick(t, 6, NULL);
        b = saved(t);
        ASSERT_EQ(RN_OK, rn_trainer_load(t, b.at, b.size));
        free(b.at);
        ASSERT(all_finite(rn_trainer_theta(t), s.p.policy.dim));
    }
    rn_trainer_destroy(t);
    PASS();
}

SUITE(resuming) {
    for (int kind = 0; kind < KINDS; kind++) {
        RUN_TESTp(resumed_runs_keep_the_bits, kind, 0);
        RUN_TESTp(resumed_runs_keep_the_bits, kind, 1);
        RUN_TESTp(resumed_runs_keep_the_bits, kind, 7);
    }
    for (int kind = 0; kind < KINDS; kind++) RUN_TESTp(saving_changes_nothing, kind);
    RUN_TEST(agents_and_servers_resume);
    RUN_TEST(environments_that_cannot_be_saved);
}

SUITE(damage) {
    RUN_TEST(sealing_is_understood);
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == PLAIN || kind == TIME || kind == ADAM) RUN_TESTp(damage_is_noticed, kind);
        RUN_TESTp(planted_nan_is_refused, kind);
        RUN_TESTp(forged_states_do_no_harm, kind);
        RUN_TESTp(counters_at_their_end, kind);
    }
    RUN_TEST(impossible_numbers_are_refused);
    RUN_TEST(environments_may_refuse);
    RUN_TEST(foreign_states_are_refused);
    RUN_TEST(other_descs_are_refused);
    RUN_TESTp(giant_rewards_can_be_saved, RN_BASELINE_NONE);
    RUN_TESTp(giant_rewards_can_be_saved, RN_BASELINE_TIME);
    RUN_TESTp(giant_rewards_can_be_saved, RN_BASELINE_RIDGE);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(resuming);
    RUN_SUITE(damage);
    GREATEST_MAIN_END();
}
