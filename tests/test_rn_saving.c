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
    do {
        ASSERT_EQ(RN_MORE, rn_trainer_tick(t, 1, NULL));
    } while (rn_trainer_save(t, b + size, size) != RN_ERR_NO_SAVE);
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

/* A small budget serves one agent after the other. Those whose turn has not come play two steps on
   their own: the trainer finds them under way. */
static void all_begin(rn_trainer *t) {
    rn_server *s = rn_trainer_server(t);
    for (size_t i = 0; i < N; i++) {
        rn_agent *a = rn_trainer_agent(t, i);
        if (rn_trainer_agent_status(t, i) != RN_MORE) continue;
        if (rn_agent_begin_round(a, rn_server_theta(s), rn_server_eta(s)) != RN_OK) continue;
        (void)rn_agent_tick(a, 2, NULL);
    }
}

static rn_agent *busy_agent(rn_trainer *t) {
    for (size_t i = 0; i < N; i++)
        if (rn_agent_tick(rn_trainer_agent(t, i), 0, NULL) == RN_MORE)
            return rn_trainer_agent(t, i);
    abort();
}

static void victim_open(int kind) {
    setup_make(&v.s, kind);
    if (rn_trainer_create(&v.t, &v.s.d) != RN_OK) abort();
    for (int i = 0; i < 2; i++)
        if (rn_trainer_run_round(v.t) != RN_OK) abort();
    if (rn_trainer_tick(v.t, 14, NULL) != RN_MORE) abort();
    all_begin(v.t);
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
    ASSERT_EQ(0, memcmp(b.at, "RESRPG03", 8));
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
    ASSERTm("the policy is given what nobody made", !v.s.g.broken);
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
    /* eta = 0.4 of each busy agent, and of its last round: 2 would turn the average around */
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
    ASSERT_EQ((size_t)(2 * N), found);
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

/* ---- a forger who knows each field, for one agent. Words are 8 bytes, numbers of rn_real their
   own size. */
typedef struct agent_map { /* where the fields of a saved agent are */
    size_t random, rounds, trajectories, steps, mean_return, mean_length, baseline;
    size_t has_d, d, before, last_round, last_eta, bank, curvature, sum_cc, busy, again;
    size_t playing, all, trajectory, eta, round, sum_return, sum_length, theta, g, v;
    size_t t, hat, obs, act, reward, env, end;
} agent_map;

static size_t take(size_t *at, size_t length) {
    const size_t here = *at;
    *at += length;
    return here;
}

static uint64_t word_at(bytes b, size_t at) {
    uint64_t x = 0;
    for (size_t i = 0; i < 8 && at + 8 <= b.size; i++) x |= (uint64_t)b.at[at + i] << (8 * i);
    return x;
}

/* of an agent in the middle of a trajectory */
static agent_map map_of(bytes b, const rn_trainer_desc *d) {
    const size_t dim = d->policy.dim * sizeof(rn_real), n = 4 + 2 * d->policy.obs_dim;
    const rn_baseline kind = d->method.baseline;
    size_t at = 32, t;
    agent_map m;
    m.random = take(&at, 32);
    m.rounds = take(&at, 8);
    m.trajectories = take(&at, 8);
    m.steps = take(&at, 8);
    m.mean_return = take(&at, 8);
    m.mean_length = take(&at, 8);
    m.baseline = take(&at, kind == RN_BASELINE_TIME    ? 16 * d->method.horizon
                           : kind == RN_BASELINE_RIDGE ? 8 * n * (n + 2)
                                                       : 0);
    m.has_d = take(&at, 8);
    m.d = take(&at, dim);
    m.before = take(&at, dim);
    m.last_round = take(&at, 8);
    m.last_eta = take(&at, 8);
    m.bank = take(&at, d->method.tuned ? 15 * 8 + 3 * dim : 0);
    m.curvature = take(&at, d->server.kl > 0 ? 8 : 0);
    m.busy = take(&at, 8);
    m.again = take(&at, 8);
    m.playing = take(&at, 8);
    m.all = take(&at, 8);
    m.trajectory = take(&at, 8);
    m.eta = take(&at, 8);
    m.round = take(&at, 8);
    m.sum_return = take(&at, 8);
    m.sum_length = take(&at, 8);
    m.sum_cc = take(&at, d->server.kl > 0 ? 16 : 0);
    m.theta = take(&at, dim);
    m.g = take(&at, dim);
    m.v = take(&at, dim);
    m.t = take(&at, 8);
    t = (size_t)word_at(b, m.t);
    m.hat = take(&at, dim);
    m.obs = take(&at, (t + 1) * d->policy.obs_dim * sizeof(rn_real));
    m.act = take(&at, t * d->policy.act_dim * sizeof(rn_real));
    m.reward = take(&at, 8 * t);
    m.env = take(&at, d->envs[0].state_size);
    m.end = at;
    return m;
}

static bytes saved_agent(const rn_agent *a) {
    bytes b;
    b.size = rn_agent_save_size(a);
    b.at = (unsigned char *)need(malloc(b.size));
    if (rn_agent_save(a, b.at, b.size) != RN_OK) abort();
    return b;
}

typedef enum written { AS_WORD, AS_DOUBLE, AS_REAL } written;

/* the status of loading b with one field changed; the agent must then be as it was */
static rn_status forged(rn_agent *a, bytes b, size_t at, written as, double x) {
    bytes f, now;
    rn_status s;
    f.size = b.size;
    f.at = (unsigned char *)need(malloc(b.size));
    memcpy(f.at, b.at, b.size);
    if (as == AS_WORD) put_bits(f.at + at, (uint64_t)x, 8);
    if (as == AS_DOUBLE) put_double(f.at + at, x);
    if (as == AS_REAL) put_real(f.at + at, x);
    reseal(f);
    s = rn_agent_load(a, f.at, f.size);
    now = saved_agent(a);
    if (!same(now, s == RN_OK ? f : b)) abort();
    if (s == RN_OK && rn_agent_load(a, b.at, b.size) != RN_OK) abort();
    free(now.at);
    free(f.at);
    return s;
}

/* one that has made at least `steps` steps of its trajectory, the first of a round or the second */
static rn_agent *agent_in_play(size_t steps, agent_map *m, bytes *b) {
    for (int tries = 0; tries < 400; tries++) {
        for (size_t i = 0; i < N; i++) {
            rn_agent *a = rn_trainer_agent(v.t, i);
            *b = saved_agent(a);
            *m = map_of(*b, &v.s.d);
            if (m->end + 8 == b->size && word_at(*b, m->t) >= steps) return a;
            free(b->at);
        }
        (void)rn_trainer_tick(v.t, 1, NULL);
    }
    abort();
}

#define REFUSED(at, as, x)                                                                         \
    do {                                                                                           \
        if (forged(a, b, at, as, x) != RN_ERR_CORRUPT)                                             \
            FAILm(WHY(#at " = %g is taken, kind %d", (double)(x), kind));                          \
    } while (0)
#define TAKEN(at, as, x)                                                                           \
    do {                                                                                           \
        if (forged(a, b, at, as, x) != RN_OK)                                                      \
            FAILm(WHY(#at " = %g is refused, kind %d", (double)(x), kind));                        \
    } while (0)

TEST forged_rows_are_refused(int kind) {
    static const double evil_acts[] = {ACTIONS, -1,    0.5,  0.999,       1e9,
                                       -1e30,   -0.25, 1e30, (double)NAN, (double)INFINITY};
    static const double evil_states[] = {STATES, -1, 0.5, 1e9, -1e30, (double)NAN};
    agent_map m;
    bytes b;
    rn_agent *a;
    size_t t;
    victim_open(kind);
    a = agent_in_play(2, &m, &b);
    t = (size_t)word_at(b, m.t);
    for (size_t row = 0; row < t; row++) {
        const size_t act = m.act + row * sizeof(rn_real);
        for (size_t i = 0; i < 10; i++) REFUSED(act, AS_REAL, evil_acts[i]);
        TAKEN(act, AS_REAL, 0);
        TAKEN(act, AS_REAL, ACTIONS - 1);
        REFUSED(m.reward + 8 * row, AS_DOUBLE, (double)NAN);
        REFUSED(m.obs + row * v.s.p.policy.obs_dim * sizeof(rn_real), AS_REAL, (double)NAN);
    }
    for (size_t row = 0; row < t && kind == TABLE; row++) {
        const size_t obs = m.obs + row * sizeof(rn_real);
        for (size_t i = 0; i < 6; i++) REFUSED(obs, AS_REAL, evil_states[i]);
        TAKEN(obs, AS_REAL, STATES - 1);
    }
    free(b.at);
    ASSERT_EQ((size_t)0, v.s.g.broken);
    rn_trainer_destroy(v.t);
    free(v.state.at);
    PASS();
}

TEST forged_fields_are_refused(int kind) {
    agent_map m;
    bytes b;
    rn_agent *a;
    victim_open(kind);
    a = agent_in_play(2, &m, &b);
    TAKEN(m.eta, AS_DOUBLE, 0.25);
    REFUSED(m.eta, AS_DOUBLE, 1.5);
    REFUSED(m.eta, AS_DOUBLE, -0.5);
    REFUSED(m.t, AS_WORD, 0);
    REFUSED(m.t, AS_WORD, (double)v.s.d.method.horizon);
    REFUSED(m.t, AS_WORD, 1e18);
    REFUSED(m.rounds, AS_WORD, 0); /* and yet it has a d */
    REFUSED(m.rounds, AS_WORD, 1000);
    REFUSED(m.trajectories, AS_WORD, 0);
    REFUSED(m.trajectories, AS_WORD, 1e6);
    REFUSED(m.steps, AS_WORD, 0);
    TAKEN(m.steps, AS_WORD, 1e6);
    /* those under way are counted already: without them an end of the trajectory would leave fewer
       steps than trajectories */
    TAKEN(m.steps, AS_WORD, (double)(word_at(b, m.trajectories) + word_at(b, m.t)));
    REFUSED(m.steps, AS_WORD, (double)(word_at(b, m.trajectories) + word_at(b, m.t) - 1));
    REFUSED(m.mean_length, AS_DOUBLE, -1);
    REFUSED(m.mean_length, AS_DOUBLE, 1e6);
    REFUSED(m.sum_length, AS_DOUBLE, -1);
    REFUSED(m.sum_length, AS_DOUBLE, 1e6);
    REFUSED(m.sum_return, AS_DOUBLE, (double)INFINITY);
    REFUSED(m.mean_return, AS_DOUBLE, (double)NAN);
    REFUSED(m.last_eta, AS_DOUBLE, 1.5);
    REFUSED(m.last_round, AS_WORD, 1e19);
    REFUSED(m.round, AS_WORD, 1e19);
    TAKEN(m.round, AS_WORD, 1e6);
    TAKEN(m.last_round, AS_WORD, 1e6);
    REFUSED(m.again, AS_WORD, 1);
    REFUSED(m.again, AS_WORD, 2);
    REFUSED(m.has_d, AS_WORD, 0);
    REFUSED(m.has_d, AS_WORD, 2);
    REFUSED(m.busy, AS_WORD, 0);
    REFUSED(m.playing, AS_WORD, 0);
    REFUSED(m.playing, AS_WORD, 7);
    REFUSED(m.all, AS_WORD, 0);
    REFUSED(m.all, AS_WORD, 3);
    REFUSED(m.all, AS_WORD, 1e18);
    REFUSED(m.trajectory, AS_WORD, 1e18);
    REFUSED(m.hat, AS_REAL, (double)NAN);
    REFUSED(m.theta, AS_REAL, (double)NAN);
    REFUSED(m.g, AS_REAL, (double)NAN);
    REFUSED(m.v, AS_REAL, (double)NAN);
    REFUSED(m.d, AS_REAL, (double)NAN);
    REFUSED(m.before, AS_REAL, (double)NAN);
    if (kind == TIME) REFUSED(m.baseline + 8 * v.s.d.method.horizon, AS_DOUBLE, -1); /* a count */
    if (kind == RIDGE) {
        const size_t n = 4 + 2 * FEATURES;
        for (size_t i = 0; i < n; i++) REFUSED(m.baseline + 8 * i * (n + 1), AS_DOUBLE, -1);
        TAKEN(m.baseline + 8, AS_DOUBLE, -1);
        REFUSED(m.baseline + 8 * n * n, AS_DOUBLE, (double)NAN);
    }
    put_bits(b.at + m.trajectories, UINT64_MAX / 4, 8); /* counters that have come to their end */
    put_bits(b.at + m.steps, UINT64_MAX / 4, 8);
    memset(b.at + m.random, 0, 24); /* all but one word of the generator */
    reseal(b);
    ASSERT_EQ(RN_OK, rn_agent_load(a, b.at, b.size));
    REFUSED(m.random + 24, AS_WORD, 0);
    free(b.at);
    ASSERT_EQ((size_t)0, v.s.g.broken);
    rn_trainer_destroy(v.t);
    free(v.state.at);
    PASS();
}

/* the squares that a soft server keeps: none without a norm, no more norms than rounds */
TEST forged_softness_is_refused(void) {
    enum { AT_T = 32 + 32, AT_NORMS = AT_T + 8, AT_SQUARES = AT_NORMS + 8 };

    static const double wrong[] = {-1, 1e300, (double)NAN, (double)INFINITY};
    rn_server *s;
    bytes b;
    uint64_t squares;
    victim_open(SOFT);
    s = rn_trainer_server(v.t);
    b.size = rn_server_save_size(s);
    b.at = (unsigned char *)need(malloc(b.size));
    ASSERT_EQ(RN_OK, rn_server_save(s, b.at, b.size));
    ASSERT_EQ(word_at(b, AT_T), word_at(b, AT_NORMS) + 1);
    squares = word_at(b, AT_SQUARES);
    ASSERT(squares > 0);
    for (size_t i = 0; i < 4; i++) {
        put_double(b.at + AT_SQUARES, wrong[i]);
        reseal(b);
        ASSERT_EQ(RN_ERR_CORRUPT, rn_server_load(s, b.at, b.size));
    }
    put_bits(b.at + AT_SQUARES, squares, 8);
    put_bits(b.at + AT_NORMS, word_at(b, AT_T), 8); /* as many norms as rounds begun */
    reseal(b);
    ASSERT_EQ(RN_ERR_CORRUPT, rn_server_load(s, b.at, b.size));
    put_bits(b.at + AT_NORMS, 0, 8); /* squares of nothing */
    reseal(b);
    ASSERT_EQ(RN_ERR_CORRUPT, rn_server_load(s, b.at, b.size));
    put_bits(b.at + AT_NORMS, word_at(b, AT_T) - 1, 8);
    put_double(b.at + AT_SQUARES, 1e279); /* the largest there may be: steps get short, no more */
    reseal(b);
    ASSERT_EQ(RN_OK, rn_server_load(s, b.at, b.size));
    ASSERT(rn_server_gamma(s) >= 0 && rn_server_gamma(s) < 1e-9);
    free(b.at);
    for (int i = 0; i < 3; i++) ASSERT_EQ(RN_OK, rn_trainer_run_round(v.t));
    rn_trainer_destroy(v.t);
    free(v.state.at);
    PASS();
}

/* What method.tuned keeps: counts in their range, nothing negative but scores, nothing that is not
   finite or whose square would not be. What is largest is taken, and the agent goes on. */
TEST forged_filters_are_refused(void) {
    static const double wrong[] = {-1, 1e151, (double)NAN, (double)INFINITY};
    const int kind = TUNED;
    agent_map m;
    bytes b;
    rn_agent *a;
    size_t dim;
    victim_open(TUNED);
    a = agent_in_play(2, &m, &b);
    dim = v.s.p.policy.dim;
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 15; k++)
            if (i || k < 6 || (k - 6) % 4) REFUSED(m.bank + 8 * k, AS_DOUBLE, wrong[i]);
    REFUSED(m.bank, AS_DOUBLE, 65);     /* rounds */
    REFUSED(m.bank + 8, AS_DOUBLE, 17); /* those that moved */
    for (size_t k = 0; k < 3; k++) {
        REFUSED(m.bank + 120 + k * dim * sizeof(rn_real), AS_REAL, (double)NAN);
        REFUSED(m.bank + 8 * (6 + 4 * k), AS_DOUBLE, -1e151); /* a score */
        TAKEN(m.bank + 8 * (6 + 4 * k), AS_DOUBLE, -1);
    }
    put_double(b.at + m.bank, 64);
    put_double(b.at + m.bank + 8, 16);
    for (size_t k = 2; k < 15; k++) put_double(b.at + m.bank + 8 * k, 1e150);
    for (size_t k = 0; k < 3 * dim; k++)
        put_real(b.at + m.bank + 120 + k * sizeof(rn_real), (double)REAL_MAX);
    reseal(b);
    ASSERT_EQ(RN_OK, rn_agent_load(a, b.at, b.size));
    for (int i = 0; i < 5; i++) {
        const rn_status s = rn_trainer_run_round(v.t);
        ASSERT(s == RN_OK || s == RN_ERR_AGGREGATE);
        ASSERT(all_finite(rn_agent_direction(a), dim));
    }
    free(b.at);
    rn_trainer_destroy(v.t);
    free(v.state.at);
    PASS();
}

/* what server.kl keeps, in agents and in the server */
TEST forged_budgets_are_refused(void) {
    enum { AT_STEP = 32 + 32 + 8 };

    static const double wrong[] = {-0.5, -2, (double)NAN, (double)INFINITY};
    const int kind = BUDGET;
    rn_server *s;
    agent_map m;
    bytes b;
    rn_agent *a;
    victim_open(BUDGET);
    a = agent_in_play(2, &m, &b);
    for (size_t i = 0; i < 4; i++) {
        REFUSED(m.curvature, AS_DOUBLE, wrong[i]);
        REFUSED(m.sum_cc, AS_DOUBLE, wrong[i]);
        REFUSED(m.sum_cc + 8, AS_DOUBLE, wrong[i]);
    }
    REFUSED(m.sum_cc + 8, AS_DOUBLE, 1e6); /* more steps than were made */
    TAKEN(m.curvature, AS_DOUBLE, -1);
    TAKEN(m.curvature, AS_DOUBLE, 1e300);
    TAKEN(m.sum_cc, AS_DOUBLE, 1e300);
    free(b.at);
    s = rn_trainer_server(v.t);
    b.size = rn_server_save_size(s);
    b.at = (unsigned char *)need(malloc(b.size));
    ASSERT_EQ(RN_OK, rn_server_save(s, b.at, b.size));
    for (size_t i = 0; i < 6; i++) {
        put_double(b.at + AT_STEP, i < 4 ? wrong[i] : i == 4 ? 0 : 1e10);
        reseal(b);
        ASSERT_EQ(RN_ERR_CORRUPT, rn_server_load(s, b.at, b.size));
    }
    put_double(b.at + AT_STEP, 1e9);
    reseal(b);
    ASSERT_EQ(RN_OK, rn_server_load(s, b.at, b.size));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(v.t));
    free(b.at);
    rn_trainer_destroy(v.t);
    free(v.state.at);
    PASS();
}

/* the second trajectory belongs to an agent that has a d, with eta below 1 */
TEST forged_second_trajectories_are_refused(void) {
    const int kind = PLAIN;
    static setup first;
    rn_trainer *t;
    agent_map m;
    bytes b;
    rn_agent *a;
    victim_open(PLAIN);
    a = agent_in_play(1, &m, &b);
    REFUSED(m.eta, AS_DOUBLE, 1);
    free(b.at);
    rn_trainer_destroy(v.t);
    free(v.state.at);
    setup_make(&first, PLAIN); /* in its first round there is no d, and no place for it */
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &first.d));
    ASSERT_EQ(RN_MORE, rn_trainer_tick(t, 1, NULL));
    a = busy_agent(t);
    b = saved_agent(a);
    m = map_of(b, &first.d);
    m.all -= 2 * first.p.policy.dim * sizeof(rn_real) + 16;
    m.again -= 2 * first.p.policy.dim * sizeof(rn_real) + 16;
    ASSERT_EQ((uint64_t)1, word_at(b, m.all));
    REFUSED(m.again, AS_WORD, 1); /* a round made before, and none was */
    REFUSED(m.all, AS_WORD, 2);
    free(b.at);
    rn_trainer_destroy(t);
    setup_make(&first, PLAIN); /* and none without the Hessian term */
    first.d.method.no_hessian = 1;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &first.d));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ(RN_MORE, rn_trainer_tick(t, 1, NULL));
    a = busy_agent(t);
    b = saved_agent(a);
    m = map_of(b, &first.d);
    ASSERT_EQ((uint64_t)1, word_at(b, m.all));
    REFUSED(m.all, AS_WORD, 2);
    free(b.at);
    rn_trainer_destroy(t);
    setup_make(&first, PLAIN); /* nor where the first one serves for both */
    first.d.method.reuse = 1;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &first.d));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    ASSERT_EQ(RN_MORE, rn_trainer_tick(t, 1, NULL));
    a = busy_agent(t);
    b = saved_agent(a);
    m = map_of(b, &first.d);
    ASSERT_EQ((uint64_t)1, word_at(b, m.all));
    REFUSED(m.all, AS_WORD, 2);
    free(b.at);
    rn_trainer_destroy(t);
    PASS();
}

/* The last observation has not been used yet, and an environment may have given anything: it is
   looked at when it is. */
TEST last_observation_is_checked_when_used(void) {
    agent_map m;
    bytes b;
    rn_agent *a;
    size_t at;
    victim_open(TABLE);
    a = agent_in_play(1, &m, &b);
    at = m.obs + (size_t)word_at(b, m.t) * sizeof(rn_real);
    put_real(b.at + at, STATES);
    reseal(b);
    ASSERT_EQ(RN_OK, rn_agent_load(a, b.at, b.size));
    ASSERT_EQ(RN_ERR_ENV, rn_agent_tick(a, 100, NULL));
    ASSERT_EQ((size_t)0, v.s.g.broken);
    free(b.at);
    rn_trainer_destroy(v.t);
    free(v.state.at);
    PASS();
}

/* between rounds: who is waited for, and a round that waits for nobody */
TEST forged_trainers_are_refused(void) {
    static setup s;
    rn_trainer *t;
    bytes b, f;
    size_t busy, status;
    setup_make(&s, PLAIN);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
    b = saved(t);
    f = saved(t);
    busy = 32 + 32 + 8;
    status = busy + 8 + 32 + 8 + 16 + 2 * s.p.policy.dim * sizeof(rn_real);
    put_bits(f.at + status, RN_MORE, 8);
    reseal(f);
    ASSERT_EQ(RN_ERR_CORRUPT, rn_trainer_load(t, f.at, f.size));
    put_bits(f.at + status, RN_STATUS_COUNT, 8);
    reseal(f);
    ASSERT_EQ(RN_ERR_CORRUPT, rn_trainer_load(t, f.at, f.size));
    put_bits(f.at + status, RN_ERR_ENV, 8);
    reseal(f);
    ASSERT_EQ(RN_OK, rn_trainer_load(t, f.at, f.size));
    ASSERT_EQ(RN_ERR_ENV, rn_trainer_agent_status(t, 0));
    ASSERT_EQ(RN_OK, rn_trainer_load(t, b.at, b.size));
    memcpy(f.at, b.at, b.size);
    put_bits(f.at + busy, 1, 8);
    reseal(f);
    ASSERT_EQ(RN_OK, rn_trainer_load(t, f.at, f.size)); /* a round with nothing left but its end */
    ASSERT(same_state(t, f));
    ASSERT_EQ(RN_OK, rn_trainer_tick(t, 1, NULL));
    ASSERT_EQ((size_t)2, rn_trainer_rounds_done(t));
    free(b.at);
    free(f.at);
    rn_trainer_destroy(t);
    PASS();
}

/* ---- sums that are divided over ticks: a net of the header's own, and more steps than a block */
static void pace_reset(void *self, const agg_rng *r, rn_real *obs) {
    (void)self;
    obs[0] = (rn_real)rn_draw_uniform(r);
    obs[1] = 1;
}

static rn_step_result pace_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                double *reward) {
    pace_reset(self, r, obs);
    *reward = (double)(act[0] * obs[0]);
    return RN_RUNNING;
}

enum { PACE = 150 }; /* steps of every trajectory */

static rn_trainer *pace_make(rn_net *net, int kind) {
    rn_net_desc shape = rn_make_net_desc(2, 3);
    rn_trainer_desc d;
    rn_trainer *t;
    rn_env envs[2];
    memset(envs, 0, sizeof envs);
    shape.hidden[0] = 5;
    for (int i = 0; i < 2; i++) {
        envs[i].reset = pace_reset;
        envs[i].step = pace_step;
        envs[i].obs_dim = 2;
        envs[i].act_dim = 1;
        envs[i].actions = 3;
    }
    d = rn_make_trainer_desc(2, 0, envs, rn_make_net_policy(net, &shape));
    d.method.horizon = PACE;
    if (kind == 1) d.method.reuse = 0; /* the paper's second trajectories */
    if (kind == 2) {                   /* c alone */
        d.method.reuse = 0;
        d.method.no_hessian = 1;
        d.server.kl = 1e-3;
    }
    if (rn_trainer_create(&t, &d) != RN_OK) abort();
    return t;
}

/* Saved wherever that is possible: between trajectories, and within the sums of one. Loaded by turns
   into a new trainer and one that has run: what its own trajectories left behind is not taken for
   this one's. */
TEST divided_sums_resume(int kind) {
    static rn_net nets[2];
    rn_trainer *whole = pace_make(&nets[0], kind), *parts = pace_make(&nets[1], kind);
    size_t saves = 0;
    for (int round = 0; round < 3; round++) {
        rn_status s = RN_MORE;
        while (s == RN_MORE) {
            unsigned char *b;
            size_t size;
            s = rn_trainer_tick(parts, 1 + saves % 3 * 90, NULL);
            size = rn_trainer_save_size(parts);
            b = (unsigned char *)need(malloc(size));
            if (s == RN_MORE && rn_trainer_save(parts, b, size) == RN_OK) {
                rn_trainer_destroy(parts);
                parts = pace_make(&nets[1], kind);
                if (saves % 2) ASSERT_EQ(RN_OK, rn_trainer_run_round(parts));
                if (saves % 2) ASSERT_EQ(RN_MORE, rn_trainer_tick(parts, 2 * PACE, NULL));
                ASSERT_EQ(RN_OK, rn_trainer_load(parts, b, size));
                saves++;
            }
            free(b);
        }
        ASSERT_EQ(RN_OK, rn_trainer_run_round(whole));
        ASSERT(same_bits(rn_trainer_theta(whole), rn_trainer_theta(parts), nets[0].dim));
    }
    ASSERT(saves > 20);
    rn_trainer_destroy(whole);
    rn_trainer_destroy(parts);
    PASS();
}

/* Psi has come, and what is due: of tau^ no g is made */
TEST forged_sums_are_refused(void) {
    enum { SUMS_G = 3, SUMS_V = 4 };
    const int kind = PLAIN;
    agent_map m;
    bytes b;
    rn_agent *a;
    size_t weight;
    victim_open(PLAIN);
    a = busy_agent(v.t);
    for (;;) {
        b = saved_agent(a);
        m = map_of(b, &v.s.d);
        if (word_at(b, m.playing) == SUMS_V && word_at(b, m.trajectory) == 1) break;
        free(b.at);
        if (rn_agent_tick(a, 1, NULL) != RN_MORE) abort();
    }
    weight = b.size - 8 - (size_t)word_at(b, m.t) * sizeof(rn_real);
    REFUSED(weight - 8, AS_WORD, 1); /* steps that are done: a host's policy does all at once */
    REFUSED(m.playing, AS_WORD, SUMS_G);
    REFUSED(m.playing, AS_WORD, SUMS_V + 1);
    REFUSED(m.t, AS_WORD, 0);
    REFUSED(m.t, AS_WORD, (double)v.s.d.method.horizon + 1);
    REFUSED(weight, AS_REAL, (double)NAN);
    TAKEN(weight, AS_REAL, 3);
    ASSERT_EQ(RN_OK, rn_agent_tick(a, 1000, NULL));
    ASSERT_EQ((size_t)0, v.s.g.broken);
    free(b.at);
    rn_trainer_destroy(v.t);
    free(v.state.at);
    PASS();
}

/* ---- continuous actions: what a clipped Gaussian can give, and what random actions can be */
static void drift_look(void *self, const agg_rng *r, rn_real *obs) {
    (void)self;
    obs[0] = (rn_real)rn_draw_uniform(r);
}

static rn_step_result drift_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                 double *reward) {
    drift_look(self, r, obs);
    *reward = (double)act[0];
    return RN_RUNNING;
}

static void drift_save(const void *self, void *to) { memcpy(to, self, 1); }

static int drift_load(void *self, const void *from) {
    memcpy(self, from, 1);
    return 1;
}

static rn_env drift_env(unsigned char *self) {
    rn_env e;
    memset(&e, 0, sizeof e);
    e.self = self;
    e.reset = drift_look;
    e.step = drift_step;
    e.obs_dim = e.act_dim = 1;
    e.act_low = -4;
    e.act_high = 3;
    e.state_size = 1;
    e.save = drift_save;
    e.load = drift_load;
    return e;
}

TEST forged_continuous_actions_are_refused(int kind) { /* 0: clipped, 1: free, 2: at random */
    static const rn_real theta[4] = {0};
    static unsigned char block[1 << 14], state;
    rn_net_desc shape = net_desc(1, 1, 0, 0, RN_TANH);
    rn_trainer_desc like;
    rn_agent_desc d;
    rn_agent *a;
    rn_net net;
    rn_env env = drift_env(&state);
    agent_map m;
    bytes b;
    memset(&like, 0, sizeof like);
    memset(&d, 0, sizeof d);
    shape.gaussian = 1;
    shape.clip = kind == 1 ? 0 : 0.5;
    d.env = env;
    d.policy = rn_make_net_policy(&net, &shape);
    d.method.horizon = 6;
    d.random_action = kind == 2;
    ASSERT(rn_agent_size(&d) <= sizeof block);
    ASSERT_EQ(RN_OK, rn_agent_init(&a, &d, block, sizeof block));
    ASSERT_EQ(RN_OK, rn_agent_run_round(a, theta, 1));
    ASSERT_EQ(RN_OK, rn_agent_begin_round(a, theta, 1));
    ASSERT_EQ(RN_MORE, rn_agent_tick(a, 4, NULL));
    b = saved_agent(a);
    like.policy = d.policy;
    like.method = d.method;
    like.envs = &env;
    m = map_of(b, &like);
    ASSERT_EQ(b.size, m.end + 8);
    REFUSED(m.act, AS_REAL, (double)NAN);
    if (kind == 0) {
        TAKEN(m.act, AS_REAL, 0.5);
        TAKEN(m.act, AS_REAL, -0.5);
        REFUSED(m.act, AS_REAL, 0.5001);
        REFUSED(m.act + 3 * sizeof(rn_real), AS_REAL, -0.5001);
        REFUSED(m.act, AS_REAL, 1e30);
    }
    if (kind == 1) TAKEN(m.act, AS_REAL, 1e30);
    if (kind == 2) {
        TAKEN(m.act, AS_REAL, -4);
        TAKEN(m.act, AS_REAL, 3);
        REFUSED(m.act, AS_REAL, -4.001);
        REFUSED(m.act, AS_REAL, 3.001);
    }
    free(b.at);
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
    b.at[7] ^= 1; /* another version: the one before */
    ASSERT_EQ('2', b.at[7]);
    reseal(b);
    ASSERT_EQ(RN_ERR_FORMAT, rn_trainer_load(v.t, b.at, b.size));
    b.at[7] ^= 1;
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
    enum { CHANGES = 21 };

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
        case 14: s.d.method.flat = 1; break;
        case 15: s.d.method.reuse = 1; break;
        case 16: s.d.server.soft = 1; break;
        case 17: s.d.method.tuned = 1; break;
        case 18: s.d.server.kl = 1e-3; break;
        case 19: s.d.method.lookahead = 1; break;
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

/* nor what comes of them: g may be too large for a number while v is still to be made */
static double reward_size;

static rn_step_result growing_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                   double *reward) {
    const rn_step_result result = walk_step(self, act, r, obs, reward);
    *reward = *reward > 0 ? reward_size : -reward_size;
    return result;
}

TEST overflowing_gradients_can_be_saved(void) {
    static setup s;
    rn_trainer *t;
    size_t failed = 0;
    setup_make(&s, PLAIN);
    s.d.method.reuse = 1;
    s.d.method.batch = 8;
    s.d.method.discount = 0.01;
    for (size_t i = 0; i < N; i++) s.envs[i].step = growing_step;
    reward_size = 1;
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &s.d));
    ASSERT_EQ(RN_OK, rn_trainer_run_round(t)); /* theta moves: now there is a v */
    reward_size = (double)REAL_MAX / 2;
    for (int i = 0; i < 1000 && rn_trainer_rounds_done(t) < 4; i++) {
        const bytes b = saved(t);
        ASSERT_EQ(RN_OK, rn_trainer_load(t, b.at, b.size));
        free(b.at);
        (void)rn_trainer_tick(t, 1, NULL);
        for (size_t k = 0; k < N; k++) failed += rn_trainer_agent_status(t, k) == RN_ERR_POLICY;
    }
    ASSERT_EQ((size_t)4, rn_trainer_rounds_done(t));
    ASSERT(failed > 0);
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
    for (int kind = 0; kind < 3; kind++) RUN_TEST1(divided_sums_resume, kind);
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
    RUN_TESTp(forged_rows_are_refused, PLAIN);
    RUN_TESTp(forged_rows_are_refused, TABLE);
    RUN_TESTp(forged_fields_are_refused, PLAIN);
    RUN_TESTp(forged_fields_are_refused, TIME);
    RUN_TESTp(forged_fields_are_refused, RIDGE);
    RUN_TEST(forged_second_trajectories_are_refused);
    RUN_TEST(forged_filters_are_refused);
    RUN_TEST(forged_budgets_are_refused);
    RUN_TEST(forged_softness_is_refused);
    RUN_TEST(last_observation_is_checked_when_used);
    RUN_TEST(forged_trainers_are_refused);
    RUN_TEST(forged_sums_are_refused);
    for (int kind = 0; kind < 3; kind++) RUN_TESTp(forged_continuous_actions_are_refused, kind);
    RUN_TEST(environments_may_refuse);
    RUN_TEST(foreign_states_are_refused);
    RUN_TEST(other_descs_are_refused);
    RUN_TESTp(giant_rewards_can_be_saved, RN_BASELINE_NONE);
    RUN_TESTp(giant_rewards_can_be_saved, RN_BASELINE_TIME);
    RUN_TESTp(giant_rewards_can_be_saved, RN_BASELINE_RIDGE);
    RUN_TEST(overflowing_gradients_can_be_saved);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(resuming);
    RUN_SUITE(damage);
    GREATEST_MAIN_END();
}
