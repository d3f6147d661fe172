/* The federation of resnharpg.h from inside: a hub and its peers in one process, with nothing but
   byte buffers between them. Is theta the trainer's, bit by bit? Does no message that is damaged,
   forged, late, early, doubled or misplaced move anything? Do both sides go on after they died? */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "greatest.h"
#include <math.h>
#include "examples/envs/cartpole.h"
#include "common.h"

enum { N = 7, F = 2 };

/* ---- a federation: one recipe, a hub, N peers, each with its own environment */
typedef struct federation {
    rn_net net;
    rn_trainer_desc recipe;
    cartpole pole[N], trainers_pole[N];
    rn_env env[N];
    rn_hub_desc hub_desc;
    rn_peer_desc peer_desc[N];
    rn_hub *hub;
    rn_peer *peer[N];
    void *hub_block, *peer_block[N];
    uint64_t now;
    int cut[N]; /* nothing goes to or from it */
} federation;

static rn_trainer_desc small_recipe(federation *f) {
    rn_net_desc shape = rn_make_net_desc(4, 2);
    rn_trainer_desc d;
    shape.hidden[0] = 3;
    for (size_t i = 0; i < N; i++) f->env[i] = cartpole_env(&f->trainers_pole[i]);
    d = rn_make_trainer_desc(N, F, f->env, rn_make_net_policy(&f->net, &shape));
    d.method.horizon = 12;
    d.method.batch = 1;
    d.seed = 11;
    return d;
}

static void start_hub(federation *f) {
    const size_t size = rn_hub_size(&f->hub_desc);
    free(f->hub_block);
    f->hub_block = need(calloc(1, size)); /* whole blocks are compared */
    if (rn_hub_init(&f->hub, &f->hub_desc, f->hub_block, size) != RN_OK) f->hub = NULL;
}

static void start_peer(federation *f, size_t i) {
    const size_t size = rn_peer_size(&f->peer_desc[i]);
    free(f->peer_block[i]);
    f->peer_block[i] = need(calloc(1, size));
    if (rn_peer_init(&f->peer[i], &f->peer_desc[i], f->peer_block[i], size) != RN_OK)
        f->peer[i] = NULL;
}

/* fills f, whose address must stay; `change` may alter the recipe */
static void federation_make(federation *f, void (*change)(rn_trainer_desc *)) {
    memset(f, 0, sizeof *f);
    f->recipe = small_recipe(f);
    if (change) change(&f->recipe);
    f->hub_desc = rn_make_hub_desc(&f->recipe);
    for (size_t i = 0; i < N; i++) {
        f->peer_desc[i] = rn_make_peer_desc(&f->recipe, i, cartpole_env(&f->pole[i]));
        memset(f->peer_desc[i].run, 5, 16);
    }
    memset(f->hub_desc.run, 5, 16);
}

static void federation_start(federation *f) {
    start_hub(f);
    for (size_t i = 0; i < N; i++) start_peer(f, i);
}

static void federation_free(federation *f) {
    free(f->hub_block);
    for (size_t i = 0; i < N; i++) free(f->peer_block[i]);
}

/* all that the peers have to say goes to the hub */
static void listen_to_peers(federation *f) {
    rn_letter m;
    for (size_t i = 0; i < N; i++)
        while (rn_peer_next(f->peer[i], &m))
            if (!f->cut[i]) (void)rn_hub_receive(f->hub, i, m.bytes, m.size);
}

static void listen_to_hub(federation *f) {
    rn_letter m;
    while (rn_hub_next(f->hub, &m))
        if (!f->cut[m.to]) (void)rn_peer_receive(f->peer[m.to], m.bytes, m.size);
}

/* one turn of every transport loop; what the hub's tick says */
static rn_status turn(federation *f, rn_progress *p) {
    f->now++;
    listen_to_hub(f);
    for (size_t i = 0; i < N; i++)
        if (!f->cut[i]) (void)rn_peer_tick(f->peer[i], f->now, (size_t)-1, NULL);
    listen_to_peers(f);
    return rn_hub_tick(f->hub, f->now, p);
}

/* turns until a round is over, at most `most` of them */
static rn_status run_round(federation *f, int most, rn_progress *p) {
    rn_status s = RN_MORE;
    while (most-- > 0 && s == RN_MORE) s = turn(f, p);
    return s;
}

static const rn_real *theta_of(const federation *f) { return rn_server_theta(f->hub->server); }

/* ---- with nobody failing: the trainer's bits after every round */
static void change_nothing(rn_trainer_desc *d) { (void)d; }
static void change_tuned(rn_trainer_desc *d) {
    d->method.tuned = 1;
    d->method.clip = 0;
    d->server.kl = 0.002;
    d->server.gamma = rn_schedule_linear(1, 0, 50);
}
static void change_random(rn_trainer_desc *d) { /* random numbers of the server's */
    d->server.agg.rule = AGG_CWTM;
    d->server.agg.f = 1;
    d->server.agg.pre[0] = AGG_PRE_BUCKETING;
}
static void change_paper(rn_trainer_desc *d) {
    d->method.reuse = d->method.flat = 0;
    d->method.baseline = RN_BASELINE_NONE;
    d->server.update = RN_UPDATE_ADAM_NORMALISED;
}

TEST the_trainers_bits(void (*change)(rn_trainer_desc *)) {
    federation f;
    rn_trainer *t;
    federation_make(&f, change);
    federation_start(&f);
    ASSERT(f.hub && f.peer[0]);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &f.recipe));
    ASSERT_EQ(0, memcmp(theta_of(&f), rn_trainer_theta(t), f.net.dim * sizeof(rn_real)));
    for (int round = 1; round <= 12; round++) {
        rn_progress p;
        ASSERT_EQ(RN_OK, run_round(&f, 2, &p));
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        ASSERT_EQ((size_t)round, p.round);
        ASSERT_EQ((size_t)0, p.late);
        ASSERT_EQ(0, memcmp(theta_of(&f), rn_trainer_theta(t), f.net.dim * sizeof(rn_real)));
    }
    rn_trainer_destroy(t);
    federation_free(&f);
    PASS();
}

/* ---- messages to play with: copies, forgeries with a checksum that fits */
enum { LONGEST = 1024 };

typedef struct message {
    unsigned char bytes[LONGEST];
    size_t size;
} message;

static message message_of(rn_letter m) {
    message c;
    memset(&c, 0, sizeof c);
    if (m.size > sizeof c.bytes) abort();
    memcpy(c.bytes, m.bytes, m.size);
    c.size = m.size;
    return c;
}

/* a word of 8 bytes becomes another, and the checksum what it must be */
static message forge(message m, size_t at, uint64_t word) {
    rni_put(m.bytes + at, word, 8);
    rni_put(m.bytes + m.size - 8, rni_checksum(m.bytes, m.size - 8), 8);
    return m;
}

static uint64_t word_at(const message *m, size_t at) { return rni_get(m->bytes + at, 8); }

static message row_message(uint32_t sender, uint64_t round, uint64_t answers, uint32_t form,
                           size_t dim, double value) {
    message m;
    rni_wire w = rni_wire_make(sender, RNI_ROW);
    unsigned char run[16];
    memset(&m, 0, sizeof m);
    memset(run, 5, sizeof run);
    w.round = round, w.answers = answers, w.form = form, w.dim = dim;
    w.a = aggi_bits(-1.0), w.b = aggi_bits(0.5);
    for (size_t i = 0; i < dim; i++) {
        const float x = (float)value;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        rni_put(m.bytes + RNI_WIRE_HEAD + i * form,
                form == 8   ? aggi_bits(value)
                : form == 4 ? bits
                            : rni_half_from(value * 2),
                form);
    }
    m.size = rni_seal(m.bytes, run, &w);
    return m;
}

static uint64_t plan_seal(const federation *f) {
    return rni_seal_of(f->hub->plan, f->hub->plan_size);
}

/* ---- nothing moves: the whole block of the object is compared, but for what counts refusals */
static rn_reason hub_reason; /* of the last message, for what a test says of it */

static int hub_unmoved_by(federation *f, size_t from, const void *bytes, size_t size) {
    const size_t block = rn_hub_size(&f->hub_desc);
    unsigned char *before = (unsigned char *)need(malloc(block));
    const uint64_t last = f->hub->member[from].report.last_seen;
    rn_reason owed = f->hub->member[from].owes_reason;
    int same;
    memcpy(before, f->hub_block, block);
    hub_reason = rn_hub_receive(f->hub, from, bytes, size);
    f->hub->member[from].report.messages[hub_reason]--;
    f->hub->member[from].owes_reason = owed;
    same = !memcmp(before, f->hub_block, block) && hub_reason != RN_ACCEPTED &&
           last == f->hub->member[from].report.last_seen;
    free(before);
    return same;
}

static int peer_unmoved_by(federation *f, size_t i, const void *bytes, size_t size) {
    const size_t block = rn_peer_size(&f->peer_desc[i]);
    unsigned char *before = (unsigned char *)need(malloc(block));
    int same;
    memcpy(before, f->peer_block[i], block);
    hub_reason = rn_peer_receive(f->peer[i], bytes, size);
    same = !memcmp(before, f->peer_block[i], block) && hub_reason != RN_ACCEPTED;
    free(before);
    return same;
}

typedef int unmoved(federation *f, size_t who, const void *bytes, size_t size);

/* every bit flipped, every length less, some lengths more */
static const char *damage(federation *f, size_t who, message m, unmoved *by) {
    for (size_t i = 0; i < 8 * m.size; i++) {
        m.bytes[i / 8] ^= (unsigned char)(1u << i % 8);
        if (!by(f, who, m.bytes, m.size)) return WHY("bit %zu of byte %zu", i % 8, i / 8);
        m.bytes[i / 8] ^= (unsigned char)(1u << i % 8);
    }
    for (size_t size = 0; size < m.size; size++)
        if (!by(f, who, m.bytes, size)) return WHY("cut to %zu", size);
    for (size_t more = 1; more < 20; more++) {
        if (!by(f, who, m.bytes, m.size + more)) return WHY("%zu more", more);
        memcpy(m.bytes + m.size, m.bytes, more); /* not only zeros */
    }
    return NULL;
}

/* a federation that has done `rounds`, each peer holding its answer to the next plan */
static void federation_at(federation *f, int rounds, void (*change)(rn_trainer_desc *)) {
    federation_make(f, change);
    federation_start(f);
    while (rounds-- > 0) (void)run_round(f, 3, NULL);
    listen_to_hub(f);
    for (size_t i = 0; i < N; i++) (void)rn_peer_tick(f->peer[i], f->now, (size_t)-1, NULL);
}

TEST damaged_on_the_way_to_the_hub(int half) {
    federation f;
    rn_letter m;
    message join, row, leave;
    federation_at(&f, 2, NULL);
    f.peer[3]->desc.half = half;
    f.peer[3]->owes_join = 1;
    ASSERT(rn_peer_next(f.peer[3], &m));
    join = message_of(m);
    ASSERT(rn_peer_next(f.peer[3], &m));
    row = message_of(m);
    rn_peer_leave(f.peer[3]);
    ASSERT(rn_peer_next(f.peer[3], &m));
    leave = message_of(m);
    ASSERT(!rn_peer_next(f.peer[3], &m));
    ASSERT_EQ((const char *)NULL, damage(&f, 3, join, hub_unmoved_by));
    ASSERT_EQ((const char *)NULL, damage(&f, 3, row, hub_unmoved_by));
    ASSERT_EQ((const char *)NULL, damage(&f, 3, leave, hub_unmoved_by));
    /* whole they are taken, a row once */
    ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 3, join.bytes, join.size));
    ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 3, row.bytes, row.size));
    ASSERT(hub_unmoved_by(&f, 3, row.bytes, row.size));
    ASSERT_EQ(RN_REFUSED_AGAIN, hub_reason);
    ASSERT_EQ((const char *)NULL, damage(&f, 3, row, hub_unmoved_by));
    ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 3, leave.bytes, leave.size));
    ASSERT(hub_unmoved_by(&f, 3, leave.bytes, leave.size));
    ASSERT_EQ(RN_REFUSED_STRANGER, hub_reason);
    federation_free(&f);
    PASS();
}

TEST damaged_on_the_way_to_a_peer(void) {
    federation f;
    rn_letter m;
    message plan, refusal;
    federation_make(&f, NULL);
    federation_start(&f);
    (void)run_round(&f, 3, NULL);
    ASSERT(rn_hub_next(f.hub, &m));
    plan = message_of(m);
    f.hub->member[0].owes_reason = RN_REFUSED_METHOD;
    f.hub->next = 0;
    ASSERT(rn_hub_next(f.hub, &m));
    refusal = message_of(m);
    ASSERT_EQ((const char *)NULL, damage(&f, 2, plan, peer_unmoved_by));
    ASSERT_EQ((const char *)NULL, damage(&f, 2, refusal, peer_unmoved_by));
    ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[2], refusal.bytes, refusal.size));
    ASSERT_EQ(RN_REFUSED_METHOD, rn_peer_refusal(f.peer[2]));
    ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[2], plan.bytes, plan.size));
    ASSERT_EQ(RN_ACCEPTED, rn_peer_refusal(f.peer[2]));
    ASSERT_EQ((size_t)2, rn_peer_round(f.peer[2]));
    federation_free(&f);
    PASS();
}

/* ---- forged, with a checksum that fits: each wrong field has its reason */
#define REFUSED_BY_HUB(reason, from, m)                                                            \
    do {                                                                                           \
        const message forged = m;                                                                  \
        ASSERT(hub_unmoved_by(&f, from, forged.bytes, forged.size));                               \
        ASSERT_EQ(reason, hub_reason);                                                             \
    } while (0)

TEST forged_for_the_hub(void) {
    federation f;
    rn_letter letter;
    message row, join;
    size_t dim;
    federation_at(&f, 2, NULL);
    dim = f.net.dim;
    f.peer[1]->owes_join = 1;
    ASSERT(rn_peer_next(f.peer[1], &letter));
    join = message_of(letter);
    ASSERT(rn_peer_next(f.peer[1], &letter));
    row = message_of(letter);
    REFUSED_BY_HUB(RN_REFUSED_MAGIC, 1, forge(row, 0, word_at(&row, 0) ^ 1));
    REFUSED_BY_HUB(RN_REFUSED_VERSION, 1, forge(row, 0, word_at(&row, 0) ^ (uint64_t)3 << 48));
    REFUSED_BY_HUB(RN_REFUSED_RUN, 1, forge(row, 8, word_at(&row, 8) + 1));
    REFUSED_BY_HUB(RN_REFUSED_RUN, 1, forge(row, 16, word_at(&row, 16) + 1));
    REFUSED_BY_HUB(RN_REFUSED_SENDER, 2, row); /* one replays what another sent */
    REFUSED_BY_HUB(RN_REFUSED_SENDER, 1, forge(row, 24, word_at(&row, 24) | 0xffffffffu));
    for (uint64_t kind = 0; kind < 9; kind++) {
        const rn_reason why = kind == RNI_PLAN                        ? RN_REFUSED_KIND
                              : kind == RNI_JOIN || kind == RNI_LEAVE ? RN_REFUSED_FORM
                              : kind == RNI_REFUSAL                   ? RN_REFUSED_FORM
                                                                      : RN_REFUSED_KIND;
        if (kind == RNI_ROW) continue;
        REFUSED_BY_HUB(
            why, 1, forge(row, 24, (word_at(&row, 24) & ~((uint64_t)0xffff << 32)) | kind << 32));
    }
    for (uint64_t form = 0; form < 20; form++)
        if (form != sizeof(rn_real))
            REFUSED_BY_HUB(form == 2 || form == 4 || form == 8 ? RN_REFUSED_LENGTH
                                                               : RN_REFUSED_FORM,
                           1, forge(row, 24, (word_at(&row, 24) & 0xffffffffffffu) | form << 48));
    REFUSED_BY_HUB(RN_REFUSED_PAST, 1, forge(row, 32, 2));
    REFUSED_BY_HUB(RN_REFUSED_PAST, 1, forge(row, 32, 0));
    REFUSED_BY_HUB(RN_REFUSED_FUTURE, 1, forge(row, 32, 4));
    REFUSED_BY_HUB(RN_REFUSED_FUTURE, 1, forge(row, 32, (uint64_t)-1));
    REFUSED_BY_HUB(RN_REFUSED_LENGTH, 1, forge(row, 40, dim + 1));
    REFUSED_BY_HUB(RN_REFUSED_LENGTH, 1, forge(row, 40, (uint64_t)-1));
    REFUSED_BY_HUB(RN_REFUSED_LENGTH, 1,
                   forge(row, 40, dim + ((uint64_t)1 << 62))); /* 4 dim is the same size_t */
    REFUSED_BY_HUB(RN_REFUSED_DIM, 1, row_message(1, 3, plan_seal(&f), 4, dim - 1, 1));
    REFUSED_BY_HUB(RN_REFUSED_PLAN, 1, forge(row, 48, plan_seal(&f) + 1));
    REFUSED_BY_HUB(RN_REFUSED_DIM, 1, forge(join, 40, dim - 1));
    REFUSED_BY_HUB(RN_REFUSED_POLICY, 1, forge(join, 56, 1));
    REFUSED_BY_HUB(RN_REFUSED_METHOD, 1, forge(join, 64, 1));
    ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 1, row.bytes, row.size));
    federation_free(&f);
    PASS();
}

#define REFUSED_BY_PEER(reason, m)                                                                 \
    do {                                                                                           \
        const message forged = m;                                                                  \
        ASSERT(peer_unmoved_by(&f, 0, forged.bytes, forged.size));                                 \
        ASSERT_EQ(reason, hub_reason);                                                             \
    } while (0)

TEST forged_for_a_peer(void) {
    federation f;
    rn_letter letter;
    message plan, other;
    federation_at(&f, 3, NULL); /* the peer holds the row of plan 4 */
    (void)rn_peer_next(f.peer[0], &letter);
    other = message_of(letter);
    plan = message_of(letter);
    memcpy(plan.bytes, f.hub->plan, f.hub->plan_size);
    plan.size = f.hub->plan_size;
    REFUSED_BY_PEER(RN_REFUSED_RUN, forge(plan, 8, 0));
    REFUSED_BY_PEER(RN_REFUSED_SENDER, forge(plan, 24, word_at(&plan, 24) - 1));
    REFUSED_BY_PEER(RN_REFUSED_KIND, forge(other, 24, word_at(&other, 24) | 0xffffffffu));
    REFUSED_BY_PEER(RN_REFUSED_FORM,
                    forge(plan, 24, (word_at(&plan, 24) & 0xffffffffffffu) | (uint64_t)2 << 48));
    REFUSED_BY_PEER(RN_REFUSED_PAST, forge(plan, 32, 3));
    REFUSED_BY_PEER(RN_REFUSED_NUMBERS, forge(plan, 32, 0));
    REFUSED_BY_PEER(RN_REFUSED_NUMBERS, forge(plan, 32, (uint64_t)-1));
    REFUSED_BY_PEER(RN_REFUSED_NUMBERS, forge(plan, 56, aggi_bits(1.5)));
    REFUSED_BY_PEER(RN_REFUSED_NUMBERS, forge(plan, 56, AGGI_NAN));
    REFUSED_BY_PEER(RN_REFUSED_NUMBERS, forge(plan, 72, (uint64_t)-1)); /* theta_0: NaN */
    rn_peer_leave(f.peer[0]);
    REFUSED_BY_PEER(RN_REFUSED_STRANGER, plan);
    federation_free(&f);
    /* another dim, which only another message length can have */
    federation_at(&f, 0, NULL);
    {
        rni_wire w = rni_wire_make(RNI_HUB, RNI_PLAN);
        w.form = 4, w.dim = 2, w.round = 1;
        plan.size = rni_seal(plan.bytes, f.hub_desc.run, &w);
    }
    REFUSED_BY_PEER(RN_REFUSED_DIM, plan);
    federation_free(&f);
    PASS();
}

/* a plan of the other precision: the same theta, rounded or exactly */
TEST plans_of_either_precision(void) {
    federation f;
    message plan;
    rni_wire w = rni_wire_make(RNI_HUB, RNI_PLAN);
    federation_at(&f, 0, NULL);
    memset(&plan, 0, sizeof plan);
    w.form = 12 - (uint32_t)sizeof(rn_real), w.dim = f.net.dim, w.round = 1, w.a = aggi_bits(0.5);
    for (size_t i = 0; i < f.net.dim; i++) {
        const float x = 0.25f * (float)i;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        rni_put(plan.bytes + RNI_WIRE_HEAD + i * w.form, w.form == 4 ? bits : aggi_bits((double)x),
                w.form);
    }
    plan.size = rni_seal(plan.bytes, f.hub_desc.run, &w);
    ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[0], plan.bytes, plan.size));
    for (size_t i = 0; i < f.net.dim; i++)
        ASSERT(fabs((double)f.peer[0]->theta[i] - 0.25 * (double)i) <= 0);
    ASSERT_EQ(RN_OK, rn_peer_tick(f.peer[0], 1, 1000, NULL));
    REFUSED_BY_PEER(RN_REFUSED_NUMBERS,
                    forge(plan, 72, w.form == 8 ? AGGI_INF : (uint64_t)0x7f800000u));
    federation_free(&f);
    PASS();
}

/* ---- one identity, one vote */
TEST the_first_row_of_a_round_counts(void) {
    federation f;
    message first, second;
    federation_at(&f, 1, NULL);
    first = row_message(4, 2, plan_seal(&f), 8, f.net.dim, 1.5);
    second = row_message(4, 2, plan_seal(&f), 8, f.net.dim, -7);
    ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 4, first.bytes, first.size));
    for (int i = 0; i < 5; i++) REFUSED_BY_HUB(RN_REFUSED_AGAIN, 4, second);
    (void)rn_hub_receive(f.hub, 4, second.bytes, second.size);
    ASSERT_EQ((uint64_t)1, rn_hub_report(f.hub, 4)->messages[RN_REFUSED_AGAIN]);
    ASSERT_EQ((uint64_t)2, rn_hub_report(f.hub, 4)->rows);
    ASSERT_EQ((size_t)1, rn_hub_rows_in(f.hub));
    for (size_t k = 0; k < f.net.dim; k++)
        ASSERT(fabs((double)f.hub->row[4 * f.net.dim + k] - 1.5) <= 0);
    federation_free(&f);
    PASS();
}

/* Forms of 2, 4 and 8 bytes are read on either side; what a float cannot hold is cut, not made
   infinite; NaN and Inf stay what they are, and convict their sender when the round ends. */
TEST rows_of_every_form(void) {
    static const uint32_t form[] = {2, 4, 8};
    static const double value[] = {0, 1, -2.5, 1024, (double)INFINITY, -(double)INFINITY};
    federation f;
    federation_at(&f, 0, NULL);
    f.hub->desc.stale = 100;
    f.hub->server->t = 50;
    for (size_t k = 0; k < 6; k++)
        for (size_t i = 0; i < 3; i++) {
            const double x = value[k];
            const message m = row_message(0, 1 + 3 * k + i, 0, form[i], f.net.dim, x);
            f.hub->member[0].report.joined = 1;
            if (form[i] == 2 && k > 3) continue;
            ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 0, m.bytes, m.size));
            for (size_t j = 0; j < f.net.dim; j++)
                ASSERT(aggi_bits((double)f.hub->row[j]) == aggi_bits(x));
        }
    for (int sign = -1; sign <= 1; sign += 2) {
        const uint64_t round = sign > 0 ? 40 : 30;
        const message m = row_message(0, round, 0, 8, f.net.dim, sign * 1e300);
        const double x = sizeof(rn_real) == 8 ? sign * 1e300 : sign * (double)FLT_MAX;
        ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 0, m.bytes, m.size));
        ASSERT(aggi_bits((double)f.hub->row[0]) == aggi_bits(x));
    }
    federation_free(&f);
    PASS();
}

static void send_nan(void *self, size_t round, rn_real *row) {
    (void)self;
    (void)round;
    row[3] = (rn_real)NAN;
}

TEST a_nan_convicts_its_sender(void) {
    federation f;
    rn_progress p;
    federation_make(&f, NULL);
    for (size_t i = 0; i < 2; i++) f.peer_desc[i].alter = send_nan;
    federation_start(&f);
    ASSERT_EQ(RN_OK, run_round(&f, 3, &p));
    ASSERT_EQ((size_t)2, p.dropped);
    ASSERT_EQ((size_t)0, p.late);
    ASSERT(isinf(rn_hub_report(f.hub, 1)->suspicion));
    ASSERT(rn_hub_report(f.hub, 1)->weight <= 0 && rn_hub_report(f.hub, 5)->weight >= 0);
    ASSERT(aggi_all_finite(f.peer[1]->agent->d, f.net.dim)); /* d itself stays true */
    /* a third: more than f. The round is over without an update, as in a trainer */
    f.peer[2]->desc.alter = send_nan;
    ASSERT_EQ(RN_ERR_AGGREGATE, run_round(&f, 3, &p));
    ASSERT_EQ(AGG_ERR_ROWS, p.aggregate);
    ASSERT_EQ((size_t)3, rn_server_current_round(rn_hub_server(f.hub)));
    f.peer[2]->desc.alter = NULL;
    ASSERT_EQ(RN_OK, run_round(&f, 3, NULL));
    federation_free(&f);
    PASS();
}

/* ---- when a round ends */
TEST a_quorum_at_the_deadline(void) {
    federation f;
    rn_progress p;
    federation_make(&f, NULL);
    f.hub_desc.patience = 10;
    federation_start(&f);
    ASSERT_EQ((size_t)(2 * F + 1), rn_hub_quorum(f.hub));
    ASSERT_EQ(RN_OK, run_round(&f, 3, &p)); /* all are in: nobody waits */
    f.cut[6] = f.cut[2] = 1;                /* as many as f: neither is guilty of it */
    for (int i = 0; i < 9; i++) ASSERT_EQ(RN_MORE, turn(&f, &p));
    ASSERT_EQ((size_t)5, rn_hub_rows_in(f.hub));
    ASSERT_EQ(RN_OK, turn(&f, &p));
    ASSERT_EQ((size_t)2, p.late);
    ASSERT_EQ((size_t)0, p.dropped);
    ASSERT_EQ((uint64_t)1, rn_hub_report(f.hub, 2)->late);
    ASSERT_EQ((uint64_t)0, rn_hub_report(f.hub, 3)->late);
    ASSERT_EQ((size_t)-1, rn_hub_report(f.hub, 2)->age);
    ASSERT_EQ((size_t)0, rn_hub_report(f.hub, 3)->age);
    ASSERT(rn_hub_report(f.hub, 2)->suspicion <= 0);
    f.cut[0] = 1; /* four are left: fewer than 2f+1 */
    for (int i = 0; i < 40; i++) ASSERT_EQ(RN_MORE, turn(&f, &p));
    f.cut[0] = 0; /* it is back, and the deadline is long over */
    f.peer[0]->owes_join = 1;
    ASSERT_EQ(RN_OK, run_round(&f, 2, &p));
    f.cut[6] = f.cut[2] = 0; /* the plans they missed are lost; the next one finds them */
    ASSERT_EQ(RN_OK, run_round(&f, 20, &p));
    ASSERT_EQ(RN_OK, run_round(&f, 20, &p));
    ASSERT_EQ((size_t)0, p.late);
    federation_free(&f);
    PASS();
}

/* of a quorum of five so many must be fresh: what is asked for, but at least f+1 and at most all */
TEST fresh_enough(void) {
    static const size_t asked[4] = {0, 1, 4, 9}, least[4] = {5, F + 1, 4, 5};
    for (size_t k = 0; k < 4; k++) {
        federation f;
        rn_progress p;
        federation_make(&f, NULL);
        f.hub_desc.patience = 1;
        f.hub_desc.stale = 2;
        f.hub_desc.fresh = asked[k];
        federation_start(&f);
        ASSERT_EQ(RN_OK, run_round(&f, 3, &p));
        for (size_t i = 0; i < 7; i++) f.cut[i] = i >= least[k] - 1;
        for (int i = 0; i < 9; i++) ASSERT_EQ(RN_MORE, turn(&f, &p)); /* one too few */
        f.cut[least[k] - 1] = 0;
        f.peer[least[k] - 1]->owes_join = 1;
        ASSERT_EQ(RN_OK, run_round(&f, 3, &p));
        ASSERT_EQ((size_t)0, p.late); /* the others' rows are one round old */
        ASSERT_EQ((size_t)1, rn_hub_report(f.hub, 6)->age);
        ASSERT_EQ(RN_OK, run_round(&f, 3, &p));
        ASSERT_EQ((size_t)2, rn_hub_report(f.hub, 6)->age);
        /* now they are too old: without them there may be no quorum, fresh as the others are */
        for (int i = 0; i < 9; i++) ASSERT_EQ(least[k] < 5 ? RN_MORE : RN_OK, turn(&f, &p));
        federation_free(&f);
    }
    PASS();
}

/* who left is not waited for; who has not come yet is */
TEST goodbyes(void) {
    federation f;
    rn_progress p;
    federation_make(&f, NULL);
    federation_start(&f);
    f.cut[5] = 1;
    for (int i = 0; i < 5; i++) ASSERT_EQ(RN_MORE, turn(&f, &p));
    f.cut[5] = 0;
    f.peer[5]->owes_join = 1; /* the first was lost, and there is no retry */
    ASSERT_EQ(RN_OK, run_round(&f, 3, &p));
    rn_peer_leave(f.peer[5]);
    ASSERT_EQ(RN_OK, run_round(&f, 3, &p));
    ASSERT_EQ((size_t)1, p.late);
    ASSERT_EQ(0, rn_hub_report(f.hub, 5)->joined);
    ASSERT_EQ((uint64_t)0, rn_hub_report(f.hub, 5)->late); /* nobody waited for it */
    ASSERT_EQ(0, rn_peer_joined(f.peer[5]));
    {
        rn_letter m; /* who left does not come back when it is told that nobody knows it */
        f.hub->member[5].owes_reason = RN_REFUSED_STRANGER;
        f.hub->next = 5;
        ASSERT(rn_hub_next(f.hub, &m));
        ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[5], m.bytes, m.size));
        ASSERT_EQ(RN_REFUSED_STRANGER, rn_peer_refusal(f.peer[5]));
        ASSERT(!rn_peer_next(f.peer[5], &m));
    }
    rn_peer_leave(f.peer[4]);
    rn_peer_leave(f.peer[3]);
    for (int i = 0; i < 5; i++) ASSERT_EQ(RN_MORE, turn(&f, &p)); /* no quorum any more */
    federation_free(&f);
    PASS();
}

/* who has left is not waited for after a restart either */
TEST goodbyes_outlive_the_hub(void) {
    federation f;
    rn_progress p;
    unsigned char *state;
    size_t size;
    federation_make(&f, NULL);
    federation_start(&f);
    ASSERT_EQ(RN_OK, run_round(&f, 3, &p));
    rn_peer_leave(f.peer[5]);
    ASSERT_EQ(RN_OK, run_round(&f, 3, &p));
    size = rn_hub_save_size(f.hub);
    state = (unsigned char *)need(malloc(size));
    ASSERT_EQ(RN_OK, rn_hub_save(f.hub, state, size));
    start_hub(&f);
    ASSERT_EQ(RN_OK, rn_hub_load(f.hub, state, size));
    ASSERT_EQ(RN_OK, run_round(&f, 5, &p));
    ASSERT_EQ((size_t)1, p.late);
    rni_put(state + RNI_SAVED_HEAD, rni_checksum(state, RNI_SAVED_HEAD), 8); /* a head alone */
    ASSERT_EQ(RN_ERR_CORRUPT, rn_hub_load(f.hub, state, RNI_SAVED_HEAD + 8));
    free(state);
    federation_free(&f);
    PASS();
}

/* a peer that leaves in the middle of a trajectory plays it, and says nothing more */
TEST no_rows_after_a_goodbye(void) {
    federation f;
    rn_letter m;
    federation_make(&f, NULL);
    federation_start(&f);
    listen_to_peers(&f);
    (void)rn_hub_tick(f.hub, 1, NULL);
    listen_to_hub(&f);
    ASSERT_EQ(RN_MORE, rn_peer_tick(f.peer[0], 1, 1, NULL));
    rn_peer_leave(f.peer[0]);
    ASSERT(rn_peer_next(f.peer[0], &m)); /* goodbye */
    (void)rn_peer_tick(f.peer[0], 1, (size_t)-1, NULL);
    ASSERT(!rn_peer_next(f.peer[0], &m));
    federation_free(&f);
    PASS();
}

static void add_count(void *self, size_t round, rn_real *row) {
    (void)round;
    row[0] += (rn_real)++ * (int *)self;
}

/* Noise that is drawn anew for each repeat could be averaged away: a row is altered once. */
TEST a_row_is_altered_once(void) {
    federation f;
    rn_letter m;
    unsigned char plan[2000], row[2000];
    size_t plan_size, row_size = 0;
    int count = 0;
    federation_make(&f, NULL);
    f.peer_desc[0].alter = add_count;
    f.peer_desc[0].alter_self = &count;
    federation_start(&f);
    listen_to_peers(&f);
    (void)rn_hub_tick(f.hub, 1, NULL);
    ASSERT(rn_hub_next(f.hub, &m) && m.to == 0 && m.size <= sizeof plan);
    plan_size = m.size;
    memcpy(plan, m.bytes, m.size);
    for (int again = 0; again < 3; again++) {
        ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[0], plan, plan_size));
        ASSERT_EQ(RN_OK, rn_peer_tick(f.peer[0], 1, (size_t)-1, NULL));
        ASSERT(rn_peer_next(f.peer[0], &m) && m.size <= sizeof row);
        if (again) ASSERT(m.size == row_size && memcmp(m.bytes, row, m.size) == 0);
        row_size = m.size;
        memcpy(row, m.bytes, m.size);
        ASSERT_EQ(1, count);
    }
    federation_free(&f);
    PASS();
}

TEST quorums(void) {
    static const struct quorum {
        agg_rule rule;
        size_t f, least;
        agg_pre pre;
    } all[] = {{AGG_MDA, 2, 5, AGG_PRE_NONE},    {AGG_MDA, 0, 1, AGG_PRE_NONE},
               {AGG_BULYAN, 1, 7, AGG_PRE_NONE}, {AGG_MULTI_KRUM, 1, 3, AGG_PRE_NNM},
               {AGG_MONNA, 3, 7, AGG_PRE_NONE},  {AGG_CWTM, 1, 5, AGG_PRE_BUCKETING},
               {AGG_BULYAN, 0, 3, AGG_PRE_NONE}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        federation f;
        federation_make(&f, NULL);
        f.hub_desc.server.agg.rule = all[i].rule;
        f.hub_desc.server.agg.f = all[i].f;
        f.hub_desc.server.agg.pre[0] = all[i].pre;
        f.hub_desc.server.agg.pivot = 6;
        f.hub_desc.server.agg.q = all[i].rule == AGG_MULTI_KRUM ? 6 : 0;
        start_hub(&f);
        ASSERT(f.hub);
        ASSERT_EQ(all[i].least, rn_hub_quorum(f.hub));
        f.hub_desc.quorum = 6;
        start_hub(&f);
        ASSERT_EQ(all[i].least > 6 ? all[i].least : 6, rn_hub_quorum(f.hub));
        federation_free(&f);
    }
    PASS();
}

/* ---- a host's own rule, and a hub that takes any policy */
static agg_status first_present(void *self, const rn_real *const *given, size_t n, size_t dim,
                                rn_real *out) {
    (void)self;
    for (size_t i = 0; i < n; i++)
        if (given[i]) {
            memcpy(out, given[i], dim * sizeof *out);
            return AGG_OK;
        }
    return AGG_ERR_ROWS;
}

TEST own_rule_and_any_policy(void) {
    federation f;
    rn_progress p;
    federation_make(&f, NULL);
    f.hub_desc.server.aggregate = first_present;
    f.hub_desc.server.dim = f.net.dim;
    memset(&f.hub_desc.policy, 0, sizeof f.hub_desc.policy);
    f.hub_desc.patience = 1;
    f.peer_desc[2].agent.method.clip = 0.5; /* whatever their methods are */
    federation_start(&f);
    ASSERT(f.hub);
    f.cut[0] = 1;
    ASSERT_EQ(RN_OK, run_round(&f, 5, &p));
    ASSERT_EQ((size_t)1, p.late);
    ASSERT_EQ((size_t)0, p.dropped);
    federation_free(&f);
    PASS();
}

/* ---- stale rows: what the hub makes of them is what a server alone makes of the same rows */
static void change_plain(rn_trainer_desc *d) {
    d->server.agg.rule = AGG_CWMED;
    d->server.agg.f = 1;
    d->server.agg.pre[0] = AGG_PRE_NONE;
}

TEST stale_rows(void) {
    enum { A = 2, ROUNDS = 12 };

    federation f;
    rn_server *alone;
    void *block;
    static rn_real row[N][64];
    size_t made[N] = {0}, rounds_with_late = 0;
    rng r = rng_make(3);
    federation_make(&f, change_plain);
    f.hub_desc.stale = A;
    f.hub_desc.patience = 3; /* a join, a plan and a row take two turns */
    federation_start(&f);
    {
        rn_server_desc d = f.hub_desc.server;
        const size_t size = rn_server_size(&d);
        d.theta = theta_of(&f);
        block = need(malloc(size));
        ASSERT_EQ(RN_OK, rn_server_init(&alone, &d, block, size));
    }
    for (size_t t = 1; t <= ROUNDS; t++) {
        const rn_real *used[N];
        unsigned char late[N];
        rn_arrivals a;
        rn_progress p;
        rn_status s = RN_MORE;
        size_t count = 0, absent = 0;
        for (size_t i = 0; i < N; i++) f.cut[i] = i > 3 && rng_below(&r, 3) == 0;
        for (size_t i = 0; i < N; i++) f.peer[i]->owes_join |= !f.cut[i]; /* as retry does */
        if (t == 9)
            for (size_t i = 4; i < N; i++) f.cut[i] = 0;
        if (t > 9) f.cut[4] = 1; /* until its row is too old */
        while (s == RN_MORE && count++ < 6) s = turn(&f, &p);
        ASSERT_EQ(RN_OK, s);
        for (size_t i = 0; i < N; i++) {
            const size_t age = rn_hub_report(f.hub, i)->age;
            if (!f.cut[i]) {
                made[i] = t;
                memcpy(row[i], rn_agent_direction(f.peer[i]->agent), f.net.dim * sizeof(rn_real));
            }
            late[i] = !made[i] || t - made[i] > A;
            absent += late[i];
            used[i] = late[i] ? NULL : row[i];
            ASSERT_EQ(late[i] ? (size_t)-1 : t - made[i], age);
        }
        ASSERT_EQ(absent, p.late);
        rounds_with_late += absent > 0;
        memset(&a, 0, sizeof a);
        a.rows = used;
        a.late = late;
        a.stale = NULL;
        ASSERT_EQ(RN_OK, rn_server_update_from(alone, &a, NULL));
        a.rows = NULL;
        ASSERT_EQ(RN_ERR_ARG, rn_server_update_from(alone, &a, NULL));
        ASSERT_EQ(RN_ERR_ARG, rn_server_update_from(alone, NULL, NULL));
        ASSERT_EQ(RN_ERR_ARG, rn_server_update_from(NULL, &a, NULL));
        ASSERT_EQ(0, memcmp(theta_of(&f), rn_server_theta(alone), f.net.dim * sizeof(rn_real)));
    }
    ASSERT(rounds_with_late > 0 && rounds_with_late < ROUNDS / 2);
    free(block);
    federation_free(&f);
    PASS();
}

/* ---- who lies? The peers' reports say what the server's evidence does, and a row that is taken once
   more is no news: not then, and not when the next comes. */
static void change_watch(rn_trainer_desc *d) {
    change_plain(d);
    d->server.watch = RN_WATCH_NEWS;
}

TEST evidence_of_stale_rows(void) {
    enum { CUT = 6, FROM = 4, TO = 5 }; /* which peer, in which rounds */

    federation f;
    double before[N] = {0};
    size_t size;
    void *bytes;
    federation_make(&f, change_watch);
    f.hub_desc.stale = 2;
    f.hub_desc.patience = 3;
    federation_start(&f);
    for (size_t t = 1; t <= 9; t++) {
        const int silent = t == 1 || (t >= FROM && t <= TO + 1); /* nothing to compare with */
        f.cut[CUT] = t >= FROM && t <= TO;
        f.peer[CUT]->owes_join |= !f.cut[CUT];
        ASSERT_EQ(RN_OK, run_round(&f, 6, NULL));
        ASSERT_EQ((size_t)(f.cut[CUT] ? t + 1 - FROM : 0), rn_hub_report(f.hub, CUT)->age);
        for (size_t i = 0; i < N; i++) {
            const double now = rn_hub_report(f.hub, i)->evidence;
            ASSERT(!memcmp(&now, rn_server_evidence(f.hub->server) + i, sizeof now));
            ASSERT_EQ(t == 1 || (i == CUT && silent), !memcmp(&now, &before[i], sizeof now));
            before[i] = now;
        }
    }
    size = rn_hub_save_size(f.hub);
    bytes = need(malloc(size));
    ASSERT_EQ(RN_OK, rn_hub_save(f.hub, bytes, size));
    start_hub(&f);
    ASSERT_EQ(RN_OK, rn_hub_load(f.hub, bytes, size)); /* who was odd before is not forgotten */
    for (size_t i = 0; i < N; i++)
        ASSERT(!memcmp(&before[i], &rn_hub_report(f.hub, i)->evidence, sizeof before[i]));
    free(bytes);
    federation_free(&f);
    PASS();
}

/* a row that comes after its round is kept, if it is newer than what there is and not too old */
TEST rows_that_come_late(void) {
    federation f;
    message m;
    federation_make(&f, change_plain);
    f.hub_desc.stale = 2;
    federation_start(&f);
    for (int i = 0; i < 4; i++) ASSERT_EQ(RN_OK, run_round(&f, 3, NULL));
    ASSERT_EQ((size_t)5, rn_server_current_round(f.hub->server));
    f.hub->member[0].row_round = 2; /* as if it had missed two */
    m = row_message(0, 2, 0, 4, f.net.dim, 1);
    REFUSED_BY_HUB(RN_REFUSED_PAST, 0, m); /* three rounds old */
    m = row_message(0, 3, 0, 4, f.net.dim, 1);
    ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 0, m.bytes, m.size));
    REFUSED_BY_HUB(RN_REFUSED_AGAIN, 0, m);
    m = row_message(0, 4, 0, 4, f.net.dim, 2);
    ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 0, m.bytes, m.size));
    REFUSED_BY_HUB(RN_REFUSED_AGAIN, 0, m);
    m = row_message(0, 3, 0, 4, f.net.dim, 2);
    REFUSED_BY_HUB(RN_REFUSED_PAST, 0, m); /* there is a newer one */
    ASSERT_EQ((uint64_t)2, rn_hub_report(f.hub, 0)->stale);
    ASSERT_EQ((uint64_t)4, rn_hub_report(f.hub, 0)->rows);
    ASSERT_EQ((size_t)0, rn_hub_rows_in(f.hub)); /* they are no part of a quorum */
    federation_free(&f);
    PASS();
}

/* ---- who may join, and what the others are told */
TEST told_why(void) {
    static const struct misfit {
        rn_reason why;
        int what;
    } all[] = {{RN_REFUSED_METHOD, 0},
               {RN_REFUSED_POLICY, 1},
               {RN_REFUSED_DIM, 2},
               {RN_REFUSED_SENDER, 3},
               {RN_ACCEPTED, 4}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        federation f;
        rn_letter m;
        federation_make(&f, NULL);
        if (all[k].what == 0) f.peer_desc[1].agent.method.discount = 0.9;
        if (all[k].what == 3) f.peer_desc[1].index = 2;
        if (all[k].what == 4) f.peer_desc[1].agent.method.forget = 0.9; /* the default, by name */
        federation_start(&f);
        if (all[k].what == 1) f.peer[1]->prints.policy++;
        if (all[k].what == 2) f.peer[1]->agent->policy.dim--;
        ASSERT(rn_peer_next(f.peer[1], &m));
        ASSERT_EQ(all[k].why, rn_hub_receive(f.hub, 1, m.bytes, m.size));
        f.peer[1]->agent->policy.dim += all[k].what == 2;
        ASSERT(rn_hub_next(f.hub, &m));
        ASSERT_EQ((size_t)1, m.to);
        ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[1], m.bytes, m.size));
        ASSERT_EQ(all[k].why, rn_peer_refusal(f.peer[1]));
        ASSERT_EQ(all[k].why == RN_ACCEPTED, rn_peer_joined(f.peer[1]));
        ASSERT(!rn_hub_next(f.hub, &m)); /* said once */
        federation_free(&f);
    }
    PASS();
}

TEST reasons_have_texts(void) {
    for (int i = 0; i < RN_REASON_COUNT; i++)
        for (int j = 0; j < i; j++)
            ASSERT(strcmp(rn_reason_text((rn_reason)i), rn_reason_text((rn_reason)j)));
    ASSERT_STR_EQ("unknown reason", rn_reason_text(RN_REASON_COUNT));
    ASSERT_STR_EQ("unknown reason", rn_reason_text((rn_reason)-1));
    PASS();
}

/* a reason of a later version */
TEST unknown_reason(void) {
    federation f;
    rni_wire w = rni_wire_make(RNI_HUB, RNI_REFUSAL);
    message m;
    federation_at(&f, 0, NULL);
    w.a = 1000;
    m.size = rni_seal(m.bytes, f.hub_desc.run, &w);
    ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[0], m.bytes, m.size));
    ASSERT_EQ(RN_REASON_COUNT, rn_peer_refusal(f.peer[0]));
    federation_free(&f);
    PASS();
}

/* Who asks and asks gets one plan in `resend`, and the others are not kept waiting. */
TEST floods_of_joins(void) {
    federation f;
    rn_letter m;
    message join;
    size_t plans = 0;
    federation_make(&f, NULL);
    f.hub_desc.resend = 10;
    federation_start(&f);
    ASSERT(rn_peer_next(f.peer[0], &m));
    join = message_of(m);
    for (uint64_t now = 1; now <= 100; now++) {
        ASSERT_EQ(RN_MORE, rn_hub_tick(f.hub, now, NULL));
        for (int i = 0; i < 10; i++)
            ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 0, join.bytes, join.size));
        while (rn_hub_next(f.hub, &m)) plans++;
    }
    ASSERT_EQ((size_t)10, plans);
    ASSERT_EQ((uint64_t)1000, rn_hub_report(f.hub, 0)->messages[RN_ACCEPTED]);
    ASSERT_EQ((uint64_t)100, rn_hub_report(f.hub, 0)->last_seen);
    federation_free(&f);
    PASS();
}

/* time does not run backwards, and silence ends in a join */
TEST silence(void) {
    federation f;
    rn_letter m;
    size_t used = 7;
    federation_make(&f, NULL);
    f.peer_desc[0].retry = 10;
    federation_start(&f);
    ASSERT(rn_peer_next(f.peer[0], &m) && !rn_peer_next(f.peer[0], &m));
    ASSERT_EQ(RN_OK, rn_peer_tick(f.peer[0], 9, 100, &used));
    ASSERT_EQ((size_t)0, used);
    ASSERT(!rn_peer_next(f.peer[0], &m));
    ASSERT_EQ(RN_OK, rn_peer_tick(f.peer[0], 5, 100, NULL)); /* no: it is 9 */
    ASSERT_EQ(RN_OK, rn_peer_tick(f.peer[0], 10, 100, NULL));
    ASSERT(rn_peer_next(f.peer[0], &m) && !rn_peer_next(f.peer[0], &m));
    ASSERT_EQ(RN_OK, rn_peer_tick(f.peer[0], 19, 100, NULL));
    ASSERT(!rn_peer_next(f.peer[0], &m));
    rn_peer_leave(f.peer[0]);
    ASSERT(rn_peer_next(f.peer[0], &m));
    ASSERT_EQ(RN_OK, rn_peer_tick(f.peer[0], 90, 100, NULL));
    ASSERT(!rn_peer_next(f.peer[0], &m)); /* nothing after goodbye */
    {
        rni_wire w = rni_wire_make(RNI_HUB, RNI_REFUSAL);
        message told;
        w.a = RN_REFUSED_STRANGER;
        told.size = rni_seal(told.bytes, f.hub_desc.run, &w);
        ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[0], told.bytes, told.size));
        ASSERT(!rn_peer_next(f.peer[0], &m)); /* whatever it is told */
        ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[1], told.bytes, told.size));
        ASSERT(rn_peer_next(f.peer[1], &m));
    }
    ASSERT_EQ(RN_MORE, rn_hub_tick(f.hub, 20, NULL));
    ASSERT_EQ(RN_MORE, rn_hub_tick(f.hub, 10, NULL));
    ASSERT_EQ((uint64_t)20, f.hub->now);
    federation_free(&f);
    PASS();
}

/* A plan while the agent is at another: the row is finished, then the newest is begun. One that it
   is at already is not begun twice. A round in small ticks is the same row. */
TEST plans_while_busy(void) {
    federation f;
    rn_letter m;
    message one, two;
    rn_status s;
    int ticks = 0;
    federation_make(&f, NULL);
    federation_start(&f);
    one = row_message(0, 0, 0, 4, 1, 0);
    memcpy(one.bytes, f.hub->plan, f.hub->plan_size);
    one.size = f.hub->plan_size;
    two = forge(one, 32, 2);
    (void)rn_peer_next(f.peer[0], &m);
    ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[0], one.bytes, one.size));
    ASSERT_EQ(RN_MORE, rn_peer_tick(f.peer[0], 1, 1, NULL));
    ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[0], one.bytes, one.size));
    ASSERT(!f.peer[0]->waiting);
    ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[0], two.bytes, two.size));
    ASSERT(f.peer[0]->waiting);
    while (f.peer[0]->busy) s = rn_peer_tick(f.peer[0], 1, 1, NULL), ticks++;
    ASSERT(ticks > 3);
    ASSERT_EQ(RN_MORE, s); /* there is another plan */
    ASSERT(rn_peer_next(f.peer[0], &m));
    ASSERT_EQ((uint64_t)1, rni_get((const unsigned char *)m.bytes + 32, 8));
    ASSERT_EQ(RN_OK, rn_peer_tick(f.peer[0], 1, 1000, NULL));
    ASSERT(rn_peer_next(f.peer[0], &m));
    ASSERT_EQ((uint64_t)2, rni_get((const unsigned char *)m.bytes + 32, 8));
    ASSERT_EQ((uint64_t)2, rn_agent_stats(rn_peer_agent(f.peer[0])).rounds);
    federation_free(&f);
    PASS();
}

/* a plan out of reach, an environment that breaks: no row, and the next plan is tried again */
static rn_step_result broken_step(void *self, const rn_real *act, const agg_rng *random,
                                  rn_real *obs, double *reward) {
    const rn_step_result r = cartpole_step(self, act, random, obs, reward);
    *reward = (double)NAN;
    return r;
}

TEST plans_that_fail(void) {
    federation f;
    rn_letter m;
    message plan;
    federation_make(&f, NULL);
    f.peer_desc[0].agent.reach = 1e-9;
    federation_start(&f);
    ASSERT_EQ(RN_OK, run_round(&f, 3, NULL));
    listen_to_hub(&f);
    ASSERT_EQ(RN_ERR_REACH, rn_peer_tick(f.peer[0], f.now, 1000, NULL));
    ASSERT_EQ(RN_OK, rn_peer_tick(f.peer[0], f.now, 1000, NULL));
    ASSERT(!rn_peer_next(f.peer[0], &m));
    plan = row_message(0, 0, 0, 4, 1, 0);
    memcpy(plan.bytes, f.hub->plan, f.hub->plan_size);
    plan.size = f.hub->plan_size;
    f.peer[0]->agent->reach = 0;
    f.peer[0]->agent->env.step = broken_step;
    ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[0], plan.bytes, plan.size));
    ASSERT_EQ(RN_ERR_ENV, rn_peer_tick(f.peer[0], f.now, 1000, NULL));
    ASSERT(!rn_peer_next(f.peer[0], &m));
    f.peer[0]->agent->env.step = cartpole_step;
    ASSERT_EQ(RN_ACCEPTED, rn_peer_receive(f.peer[0], plan.bytes, plan.size));
    ASSERT_EQ(RN_OK, rn_peer_tick(f.peer[0], f.now, 1000, NULL));
    ASSERT(rn_peer_next(f.peer[0], &m));
    ASSERT_EQ(RN_ACCEPTED, rn_hub_receive(f.hub, 0, m.bytes, m.size));
    federation_free(&f);
    PASS();
}

/* ---- 16 bits a number */
TEST halves_one_by_one(void) {
    double last = -1;
    for (uint32_t h = 0; h < 0x7c00u; h++) { /* all that are finite, in order */
        const double x = rni_half_to(h), most = ldexp(1, -24) * (h < 1024 ? 1 : 0);
        ASSERT(x > last && (h >= 1024 || fabs(x - h * most) <= 0));
        ASSERT_EQ(h, rni_half_from(x));
        ASSERT_EQ(h | 0x8000u, rni_half_from(-x));
        ASSERT(aggi_bits(rni_half_to(h | 0x8000u)) == aggi_bits(-x));
        if (h) { /* between two: to the nearer, from the middle to the even one */
            const double middle = (x + last) / 2;
            ASSERT_EQ(h % 2 ? h - 1 : h, rni_half_from(middle));
            ASSERT_EQ(h, rni_half_from(nextafter(middle, 1e9)));
            ASSERT_EQ(h - 1, rni_half_from(nextafter(middle, 0)));
        }
        last = x;
    }
    ASSERT(last >= 65504 && last <= 65504);
    ASSERT_EQ(0x7bffu, rni_half_from(1e300)); /* beyond the range: its end */
    ASSERT_EQ(0xfbffu, rni_half_from(-65519.9));
    ASSERT_EQ(0x7e00u, rni_half_from((double)NAN));
    ASSERT_EQ(0x7e00u, rni_half_from(-(double)INFINITY));
    ASSERT_EQ(0u, rni_half_from(4.9406564584124654e-324));
    ASSERT(isinf(rni_half_to(0x7c00u)) && rni_half_to(0xfc00u) < 0 && isnan(rni_half_to(0x7e00u)));
    PASS();
}

/* d of any size there and back: every number within 2^-11 of itself, or 2^-39 of the largest */
TEST halves_of_rows(void) {
    enum { DIM = 40 };

    rng r = rng_make(8);
    double worst = 0;
    for (int power = -990; power <= 1020; power += 10) {
        rn_real x[DIM], y[DIM];
        unsigned char bytes[2 * DIM];
        rni_wire w = rni_wire_make(0, RNI_ROW);
        double most = 0, scale, error = 0, size = 0;
        if (sizeof(rn_real) == 4 && (power < -140 || power > 120)) continue;
        for (int i = 0; i < DIM; i++) {
            x[i] = (rn_real)ldexp(rng_normal(&r), power - (i % 4 == 3 ? 20 : 0));
            if (i == 7) x[i] = 0;
            most = fmax(most, fabs((double)x[i]));
        }
        scale = rni_put_halves(bytes, x, DIM);
        w.numbers = bytes, w.form = 2, w.dim = DIM;
        rni_get_numbers(&w, scale, y);
        for (int i = 0; i < DIM; i++) {
            const double e = fabs((double)y[i] - (double)x[i]), s = fabs((double)x[i]);
            const double tiny = (double)REAL_TINY;
            ASSERT(e <= fmax(ldexp(s, -11), ldexp(most, -39)) + tiny);
            error += (e / most) * (e / most);
            size += (s / most) * (s / most);
        }
        if (most > 1e-30 && most < 1e30) worst = fmax(worst, sqrt(error / size));
    }
    printf("\n16 bits a number: error of d at most %.2g of ||d||\n", worst);
    ASSERT(worst < 4e-4);
    PASS();
}

TEST halves_of_zeros_and_of_what_is_no_number(void) {
    static const double edge[] = {(double)NAN, (double)INFINITY, (double)REAL_MAX / 2};
    rn_real x[3] = {0, 0, 0};
    unsigned char bytes[6];
    double scale = rni_put_halves(bytes, x, 3);
    ASSERT(scale >= 1 && scale <= 1);
    for (int i = 0; i < 6; i++) ASSERT_EQ(0, bytes[i]);
    for (int i = 0; i < 3; i++) {
        rni_wire w = rni_wire_make(0, RNI_ROW);
        rn_real y[3];
        x[1] = (rn_real)edge[i];
        scale = rni_put_halves(bytes, x, 3);
        w.numbers = bytes, w.form = 2, w.dim = 3;
        rni_get_numbers(&w, scale, y);
        ASSERT_EQ(i == 2, isfinite(y[1]) != 0); /* it convicts there as it would here */
    }
    x[1] = (rn_real)REAL_TINY;
    scale = rni_put_halves(bytes, x, 3);
    ASSERT(scale > 0);
    PASS();
}

/* half the bytes, and a theta that is nearly the same after a round */
TEST a_federation_in_16_bits(void) {
    federation f, g;
    double away = 0, moved = 0;
    rn_letter m;
    federation_make(&f, NULL);
    federation_make(&g, NULL);
    for (size_t i = 0; i < N; i++) g.peer_desc[i].half = 1;
    federation_start(&f);
    federation_start(&g);
    ASSERT_EQ(RN_OK, run_round(&f, 3, NULL));
    ASSERT_EQ(RN_OK, run_round(&g, 3, NULL));
    for (size_t i = 0; i < f.net.dim; i++) {
        away += pow((double)(theta_of(&f)[i] - theta_of(&g)[i]), 2);
        moved += pow((double)(f.peer[0]->theta[i] - theta_of(&f)[i]), 2);
    }
    ASSERT(moved > 0 && sqrt(away / moved) < 1e-3);
    g.peer[0]->owes_row = 1;
    ASSERT(rn_peer_next(g.peer[0], &m));
    ASSERT_EQ(80 + 2 * f.net.dim, m.size);
    f.peer[0]->owes_row = 1;
    ASSERT(rn_peer_next(f.peer[0], &m));
    ASSERT_EQ(80 + sizeof(rn_real) * f.net.dim, m.size);
    ASSERT_EQ(80 + 8 * f.net.dim, rn_message_size(f.net.dim));
    federation_free(&f);
    federation_free(&g);
    PASS();
}

/* ---- nothing lost when anything dies. A network that loses, doubles, reorders and damages, a
   server and agents that die and come back from what they saved last; everybody is waited for, so
   that theta must be the trainer's, bit by bit. */
enum { MAIL = 64 };

typedef struct post {
    message mail[MAIL];
    size_t to[MAIL], from[MAIL], count; /* to N: the hub */
    rng random;
    size_t lost, doubled, damaged, deaths;
} post;

static void post_put(post *p, size_t from, size_t to, rn_letter m) {
    const int copies = rng_below(&p->random, 8) == 0 ? 2 : 1;
    if (rng_below(&p->random, 8) == 0) {
        p->lost++;
        return;
    }
    p->doubled += copies == 2;
    for (int i = 0; i < copies && p->count < MAIL; i++) {
        message *c = &p->mail[p->count];
        *c = message_of(m);
        if (rng_below(&p->random, 8) == 0) {
            c->bytes[rng_below(&p->random, c->size)] ^= 1u;
            p->damaged++;
        }
        p->from[p->count] = from;
        p->to[p->count++] = to;
    }
}

/* one letter, any of them */
static void post_deliver(post *p, federation *f) {
    const size_t k = rng_below(&p->random, p->count), last = --p->count;
    const message m = p->mail[k];
    const size_t to = p->to[k], from = p->from[k];
    p->mail[k] = p->mail[last];
    p->to[k] = p->to[last];
    p->from[k] = p->from[last];
    if (to == N)
        (void)rn_hub_receive(f->hub, from, m.bytes, m.size);
    else
        (void)rn_peer_receive(f->peer[to], m.bytes, m.size);
}

static unsigned char *saved_hub(const federation *f, size_t *size) {
    unsigned char *bytes = (unsigned char *)need(malloc(*size = rn_hub_save_size(f->hub)));
    if (rn_hub_save(f->hub, bytes, *size) != RN_OK) abort();
    return bytes;
}

static int hub_dies(federation *f) {
    size_t size;
    unsigned char *bytes = saved_hub(f, &size);
    start_hub(f);
    const rn_status s = rn_hub_load(f->hub, bytes, size);
    free(bytes);
    return s == RN_OK;
}

/* in the middle of a trajectory too */
static int peer_dies(federation *f, size_t i) {
    const size_t size = rn_peer_save_size(f->peer[i]);
    unsigned char *bytes = (unsigned char *)need(malloc(size));
    rn_status s = rn_peer_save(f->peer[i], bytes, size);
    memset(&f->pole[i], 0, sizeof f->pole[i]);
    start_peer(f, i);
    if (s == RN_OK) s = rn_peer_load(f->peer[i], bytes, size);
    free(bytes);
    return s == RN_OK;
}

TEST nothing_is_lost(uint64_t seed) {
    static federation f;
    static post p;
    rn_trainer *t;
    rn_letter m;
    size_t round = 1, turns = 0;
    memset(&p, 0, sizeof p);
    p.random = rng_make(seed);
    federation_make(&f, seed % 2 ? change_tuned : NULL);
    f.hub_desc.resend = 2;
    for (size_t i = 0; i < N; i++) f.peer_desc[i].retry = 12;
    federation_start(&f);
    ASSERT_EQ(RN_OK, rn_trainer_create(&t, &f.recipe));
    while (round <= 10 && turns++ < 5000) {
        const size_t die = rng_below(&p.random, 60);
        f.now++;
        for (size_t i = 0; i < N; i++) {
            (void)rn_peer_tick(f.peer[i], f.now, 5, NULL);
            while (rn_peer_next(f.peer[i], &m)) post_put(&p, i, N, m);
        }
        while (rn_hub_next(f.hub, &m)) post_put(&p, N, m.to, m);
        for (size_t k = rng_below(&p.random, 9); k-- > 0 && p.count;) post_deliver(&p, &f);
        if (die == 0) ASSERT(hub_dies(&f));
        if (die >= 1 && die <= N) ASSERT(peer_dies(&f, die - 1));
        p.deaths += die <= N;
        if (rn_hub_tick(f.hub, f.now, NULL) != RN_OK) continue;
        round++;
        ASSERT_EQ(RN_OK, rn_trainer_run_round(t));
        ASSERT_EQ(0, memcmp(theta_of(&f), rn_trainer_theta(t), f.net.dim * sizeof(rn_real)));
    }
    ASSERT_EQ((size_t)11, round);
    ASSERT(p.lost > 20 && p.doubled > 20 && p.damaged > 20 && p.deaths > 3);
    rn_trainer_destroy(t);
    federation_free(&f);
    PASS();
}

/* An older state of the server: its peers have seen later rounds, and go back with it. Rows of the
   first time that come in the second are known by the plan they answer. */
TEST an_older_state(void) {
    federation f;
    size_t size;
    unsigned char *bytes;
    rn_letter m;
    message old;
    federation_make(&f, NULL);
    federation_start(&f);
    for (int i = 0; i < 3; i++) ASSERT_EQ(RN_OK, run_round(&f, 3, NULL));
    bytes = saved_hub(&f, &size);
    for (int i = 0; i < 3; i++) ASSERT_EQ(RN_OK, run_round(&f, 3, NULL));
    f.peer[0]->owes_row = 1;
    ASSERT(rn_peer_next(f.peer[0], &m));
    old = message_of(m); /* of round 6 */
    ASSERT_EQ(RN_OK, rn_hub_load(f.hub, bytes, size));
    ASSERT_EQ((size_t)4, rn_server_current_round(f.hub->server));
    REFUSED_BY_HUB(RN_REFUSED_STRANGER, 0, old);
    for (int i = 0; i < 2; i++) ASSERT_EQ(RN_OK, run_round(&f, 4, NULL));
    ASSERT_EQ((size_t)6, rn_server_current_round(f.hub->server));
    REFUSED_BY_HUB(RN_REFUSED_PLAN, 0, old);
    ASSERT_EQ(RN_OK, run_round(&f, 3, NULL));
    free(bytes);
    federation_free(&f);
    PASS();
}

/* an agent that died without a state joins afresh and is in the next round */
TEST an_agent_without_a_state(void) {
    federation f;
    rn_progress p;
    federation_make(&f, NULL);
    federation_start(&f);
    for (int i = 0; i < 3; i++) ASSERT_EQ(RN_OK, run_round(&f, 3, NULL));
    start_peer(&f, 4);
    for (int i = 0; i < 3; i++) {
        ASSERT_EQ(RN_OK, run_round(&f, 3, &p));
        ASSERT_EQ((size_t)0, p.late);
    }
    ASSERT_EQ((uint64_t)3, rn_agent_stats(f.peer[4]->agent).rounds);
    federation_free(&f);
    PASS();
}

TEST damaged_states(int which) {
    federation f;
    size_t size;
    unsigned char *bytes, *block;
    const size_t block_size = (federation_at(&f, 2, NULL),
                               which ? rn_peer_size(&f.peer_desc[0]) : rn_hub_size(&f.hub_desc));
    unsigned char *object = (unsigned char *)(which ? f.peer_block[0] : f.hub_block);
#define LOAD(n) (which ? rn_peer_load(f.peer[0], bytes, n) : rn_hub_load(f.hub, bytes, n))
    size = which ? rn_peer_save_size(f.peer[0]) : rn_hub_save_size(f.hub);
    bytes = (unsigned char *)need(malloc(size + 8));
    block = (unsigned char *)need(malloc(block_size));
    ASSERT_EQ(RN_ERR_MEMORY, which ? rn_peer_save(f.peer[0], bytes, size - 1)
                                   : rn_hub_save(f.hub, bytes, size - 1));
    ASSERT_EQ(RN_OK,
              which ? rn_peer_save(f.peer[0], bytes, size) : rn_hub_save(f.hub, bytes, size));
    memcpy(block, object, block_size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 64;
        ASSERT_EQ(i < 8 ? RN_ERR_FORMAT : RN_ERR_CORRUPT, LOAD(size));
        bytes[i] ^= 64;
        ASSERT_EQ(i < 48 ? RN_ERR_CORRUPT : RN_ERR_CORRUPT, LOAD(i));
    }
    for (size_t at = 8; at <= 24; at += 8) { /* another run, another number */
        const uint64_t was = rni_get(bytes + at, 8);
        rni_put(bytes + at, was + 1, 8);
        rni_put(bytes + size - 8, rni_checksum(bytes, size - 8), 8);
        ASSERT_EQ(RN_ERR_MISMATCH, LOAD(size));
        rni_put(bytes + at, was, 8);
    }
    bytes[70] ^= 1; /* inside, with a checksum that fits outside */
    rni_put(bytes + size - 8, rni_checksum(bytes, size - 8), 8);
    ASSERT_EQ(RN_ERR_CORRUPT, LOAD(size));
    bytes[70] ^= 1;
    rni_put(bytes + size - 8, rni_checksum(bytes, size - 8), 8);
    ASSERT_EQ(0, memcmp(block, object, block_size));
    ASSERT_EQ(RN_OK, LOAD(size));
#undef LOAD
    free(bytes);
    free(block);
    federation_free(&f);
    PASS();
}

/* an environment that cannot be saved in the middle of a trajectory */
TEST no_save_in_the_middle(void) {
    federation f;
    unsigned char bytes[4096];
    federation_make(&f, NULL);
    f.peer_desc[0].agent.env.state_size = 0;
    federation_start(&f);
    ASSERT_EQ(RN_MORE, turn(&f, NULL));
    listen_to_hub(&f);
    ASSERT_EQ(RN_MORE, rn_peer_tick(f.peer[0], f.now, 1, NULL));
    ASSERT_EQ(RN_ERR_NO_SAVE, rn_peer_save(f.peer[0], bytes, sizeof bytes));
    federation_free(&f);
    PASS();
}

/* ---- misuse */
static void init_nan(void *self, const agg_rng *r, rn_real *theta) {
    (void)self;
    (void)r;
    theta[0] = (rn_real)NAN;
}

static rn_status hub_status(const rn_hub_desc *d) {
    rn_hub *h = NULL;
    const size_t size = rn_hub_size(d);
    unsigned char *block = (unsigned char *)need(malloc(size + 1));
    const rn_status s = rn_hub_init(&h, d, block, size + 1);
    if ((s == RN_OK) != (h != NULL)) abort();
    free(block);
    return s;
}

TEST bad_hubs(void) {
    federation f;
    rn_hub_desc d;
    rn_real nan = (rn_real)NAN;
    federation_make(&f, NULL);
    ASSERT_EQ(RN_OK, hub_status(&f.hub_desc));
#define BAD(status, change)                                                                        \
    do {                                                                                           \
        d = f.hub_desc;                                                                            \
        change;                                                                                    \
        ASSERT_EQ(status, hub_status(&d));                                                         \
    } while (0)
    BAD(RN_ERR_ARG, d.server.n = 0);
    BAD(RN_ERR_ARG, d.server.dim = d.policy.dim = 0);
    BAD(RN_ERR_DESC, d.server.dim = 3);
    BAD(RN_ERR_DESC, d.quorum = N + 1);
    BAD(RN_ERR_DESC, d.server.agg.f = N);
    BAD(RN_ERR_SIZE, d.server.n = (size_t)-1 / 512);
    BAD(RN_ERR_SIZE, d.server.dim = d.policy.dim = (size_t)-1 / 8);
    BAD(RN_ERR_SIZE, d.server.n = 0xffffffffu);
    BAD(RN_ERR_SIZE, d.server.dim = d.policy.dim = (size_t)-1 / 40);
    BAD(RN_ERR_THETA, (d.server.theta = &nan, d.server.dim = 1, d.policy.dim = 0));
    BAD(RN_OK, (nan = 1, d.server.theta = &nan, d.server.dim = 1, d.policy.dim = 0));
    BAD(RN_ERR_POLICY, d.policy.init = init_nan);
    BAD(RN_OK, d.policy.init = NULL); /* zeros */
#undef BAD
    PASS();
}

/* a theta of the host's own goes before the policy's */
TEST own_theta(void) {
    federation f;
    rn_real theta[64];
    federation_make(&f, NULL);
    for (size_t i = 0; i < f.net.dim; i++) theta[i] = (rn_real)i;
    f.hub_desc.server.theta = theta;
    start_hub(&f);
    ASSERT(f.hub);
    ASSERT_EQ(0, memcmp(theta_of(&f), theta, f.net.dim * sizeof *theta));
    federation_free(&f);
    PASS();
}

TEST bad_peers(void) {
    federation f;
    rn_peer_desc d;
    rn_peer *p = NULL;
    unsigned char block[64];
    federation_make(&f, NULL);
    d = f.peer_desc[0];
    ASSERT_EQ(RN_ERR_MEMORY, rn_peer_init(&p, &d, block, sizeof block));
    d.index = 0xffffffffu;
    ASSERT_EQ(RN_ERR_SIZE, rn_peer_init(&p, &d, block, sizeof block));
    d = f.peer_desc[0];
    d.agent.policy.dim = (size_t)-1 / 8;
    ASSERT_EQ(RN_ERR_SIZE, rn_peer_init(&p, &d, block, sizeof block));
    d = f.peer_desc[0];
    d.agent.env.step = NULL;
    ASSERT_EQ(RN_ERR_ARG, rn_peer_init(&p, &d, block, sizeof block));
    ASSERT_EQ((size_t)0, rn_peer_size(&d));
    ASSERT(!p);
    PASS();
}

/* a policy that asks for more memory once it was counted */
static size_t growing_work(void *self, size_t T) {
    static size_t calls;
    (void)self;
    (void)T;
    return ++calls * 4096;
}

/* or for more than there is, after `fine_calls` */
static size_t work_calls, fine_calls = (size_t)-1;

static size_t endless_work(void *self, size_t T) {
    (void)self;
    (void)T;
    return ++work_calls > fine_calls ? (size_t)-1 : 4096;
}

TEST callbacks_that_change_their_mind(void) {
    federation f;
    rn_peer *p = NULL;
    size_t size;
    void *block;
    federation_make(&f, NULL);
    f.peer_desc[0].agent.policy.work_size = endless_work;
    size = rn_peer_size(&f.peer_desc[0]);
    block = need(malloc(size));
    fine_calls = 2 * work_calls; /* those were for one count */
    ASSERT_EQ(RN_ERR_SIZE, rn_peer_init(&p, &f.peer_desc[0], block, size));
    ASSERT(!p);
    free(block);
    federation_make(&f, NULL);
    f.peer_desc[0].agent.policy.work_size = growing_work;
    size = rn_peer_size(&f.peer_desc[0]);
    block = need(malloc(2 * size));
    ASSERT_EQ(RN_ERR_MEMORY, rn_peer_init(&p, &f.peer_desc[0], block, size + 4096));
    ASSERT(!p);
    free(block);
    PASS();
}

TEST null_pointers(void) {
    federation f;
    rn_letter m;
    rn_hub *h;
    rn_peer *p;
    unsigned char bytes[8] = {0};
    federation_at(&f, 0, NULL);
    ASSERT_EQ((size_t)0, rn_hub_size(NULL));
    ASSERT_EQ((size_t)0, rn_peer_size(NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_hub_init(NULL, &f.hub_desc, bytes, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_hub_init(&h, NULL, bytes, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_hub_init(&h, &f.hub_desc, NULL, 8));
    ASSERT_EQ(RN_ERR_MEMORY, rn_hub_init(&h, &f.hub_desc, bytes, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_peer_init(NULL, &f.peer_desc[0], bytes, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_peer_init(&p, NULL, bytes, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_peer_init(&p, &f.peer_desc[0], NULL, 8));
    ASSERT_EQ(RN_REFUSED_LENGTH, rn_hub_receive(NULL, 0, bytes, 8));
    ASSERT_EQ(RN_REFUSED_LENGTH, rn_hub_receive(f.hub, 0, NULL, 8));
    ASSERT_EQ(RN_REFUSED_SENDER, rn_hub_receive(f.hub, N, bytes, 8));
    ASSERT_EQ(RN_REFUSED_LENGTH, rn_peer_receive(NULL, bytes, 8));
    ASSERT_EQ(RN_REFUSED_LENGTH, rn_peer_receive(f.peer[0], NULL, 8));
    ASSERT(!rn_hub_next(NULL, &m) && !rn_hub_next(f.hub, NULL));
    ASSERT(!rn_peer_next(NULL, &m) && !rn_peer_next(f.peer[0], NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_hub_tick(NULL, 0, NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_peer_tick(NULL, 0, 0, NULL));
    ASSERT(!rn_hub_server(NULL) && !rn_peer_agent(NULL) && !rn_hub_rows_in(NULL));
    ASSERT(!rn_hub_report(NULL, 0) && !rn_hub_report(f.hub, N) && !rn_hub_quorum(NULL));
    ASSERT(!rn_peer_joined(NULL) && !rn_peer_round(NULL) && !rn_peer_refusal(NULL));
    rn_peer_leave(NULL);
    ASSERT(!rn_hub_save_size(NULL) && !rn_peer_save_size(NULL));
    ASSERT_EQ(RN_ERR_ARG, rn_hub_save(NULL, bytes, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_hub_save(f.hub, NULL, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_peer_save(NULL, bytes, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_peer_save(f.peer[0], NULL, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_hub_load(NULL, bytes, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_hub_load(f.hub, NULL, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_peer_load(NULL, bytes, 8));
    ASSERT_EQ(RN_ERR_ARG, rn_peer_load(f.peer[0], NULL, 8));
    federation_free(&f);
    PASS();
}

TEST whom_a_message_is_from(void) {
    federation f;
    rn_letter m;
    federation_make(&f, NULL);
    federation_start(&f);
    ASSERT(rn_peer_next(f.peer[5], &m));
    ASSERT_EQ((size_t)5, rn_message_sender(m.bytes, m.size));
    ASSERT_EQ((size_t)-1, rn_message_sender(m.bytes, 79));
    ASSERT_EQ((size_t)-1, rn_message_sender(NULL, 80));
    ASSERT_EQ((size_t)-1, rn_message_sender(f.hub->plan, f.hub->plan_size));
    ASSERT_EQ((size_t)0, rn_message_size((size_t)-1 / 8));
    federation_free(&f);
    PASS();
}

SUITE(arrivals) {
    greatest_set_test_suffix("reals");
    RUN_TESTp(damaged_on_the_way_to_the_hub, 0);
    greatest_set_test_suffix("halves");
    RUN_TESTp(damaged_on_the_way_to_the_hub, 1);
    RUN_TEST(damaged_on_the_way_to_a_peer);
    RUN_TEST(forged_for_the_hub);
    RUN_TEST(forged_for_a_peer);
    RUN_TEST(plans_of_either_precision);
    RUN_TEST(the_first_row_of_a_round_counts);
    RUN_TEST(rows_of_every_form);
    RUN_TEST(a_nan_convicts_its_sender);
    RUN_TEST(told_why);
    RUN_TEST(reasons_have_texts);
    RUN_TEST(unknown_reason);
    RUN_TEST(floods_of_joins);
    RUN_TEST(whom_a_message_is_from);
}

SUITE(rounds_end) {
    RUN_TEST(a_quorum_at_the_deadline);
    RUN_TEST(fresh_enough);
    RUN_TEST(goodbyes);
    RUN_TEST(goodbyes_outlive_the_hub);
    RUN_TEST(no_rows_after_a_goodbye);
    RUN_TEST(a_row_is_altered_once);
    RUN_TEST(quorums);
    RUN_TEST(own_rule_and_any_policy);
    RUN_TEST(stale_rows);
    RUN_TEST(evidence_of_stale_rows);
    RUN_TEST(rows_that_come_late);
    RUN_TEST(silence);
    RUN_TEST(plans_while_busy);
    RUN_TEST(plans_that_fail);
}

SUITE(halves) {
    RUN_TEST(halves_one_by_one);
    RUN_TEST(halves_of_rows);
    RUN_TEST(halves_of_zeros_and_of_what_is_no_number);
    RUN_TEST(a_federation_in_16_bits);
}

SUITE(deaths) {
    for (uint64_t seed = 1; seed <= 6; seed++) {
        greatest_set_test_suffix(WHY("seed %d", (int)seed));
        RUN_TESTp(nothing_is_lost, seed);
    }
    RUN_TEST(an_older_state);
    RUN_TEST(an_agent_without_a_state);
    greatest_set_test_suffix("hub");
    RUN_TESTp(damaged_states, 0);
    greatest_set_test_suffix("peer");
    RUN_TESTp(damaged_states, 1);
    RUN_TEST(no_save_in_the_middle);
}

SUITE(misuse) {
    RUN_TEST(own_theta);
    RUN_TEST(bad_hubs);
    RUN_TEST(bad_peers);
    RUN_TEST(callbacks_that_change_their_mind);
    RUN_TEST(null_pointers);
}

SUITE(whole) {
    greatest_set_test_suffix("recipe");
    RUN_TESTp(the_trainers_bits, change_nothing);
    greatest_set_test_suffix("tuned");
    RUN_TESTp(the_trainers_bits, change_tuned);
    greatest_set_test_suffix("random");
    RUN_TESTp(the_trainers_bits, change_random);
    greatest_set_test_suffix("paper");
    RUN_TESTp(the_trainers_bits, change_paper);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(whole);
    RUN_SUITE(arrivals);
    RUN_SUITE(rounds_end);
    RUN_SUITE(halves);
    RUN_SUITE(deaths);
    RUN_SUITE(misuse);
    GREATEST_MAIN_END();
}
