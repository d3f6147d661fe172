/* The agent's side of a federation, sent anything: bytes as they come, and messages whose checksum
   fits, with every field of the input's. Promised: a message that is refused changes nothing;
   whatever came, d is finite, what is to be sent is well formed, and the state can be saved and
   loaded in the middle of a trajectory, one that was forged, checksums and all, too, if it was
   taken. Bound: the horizon, for each plan. */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include <math.h>
#include "common.h"
#include "fuzz/fuzz.h"

static int forged; /* a forged state was taken, which may say that its d is of a round 0 */

enum { STATES = 3, DIM = 2 * STATES, LONGEST = 80 + 8 * (DIM + 1) };

/* a walk over three states, saved in a byte */
typedef struct walk {
    unsigned char at;
} walk;

static void walk_reset(void *self, const agg_rng *r, rn_real *obs) {
    (void)r;
    ((walk *)self)->at = 0;
    obs[0] = 0;
}

static rn_step_result walk_step(void *self, const rn_real *act, const agg_rng *r, rn_real *obs,
                                double *reward) {
    walk *w = (walk *)self;
    w->at = (unsigned char)((w->at + (act[0] > 0 ? 1 : 0) + rn_draw_below(r, 2)) % STATES);
    obs[0] = (rn_real)w->at;
    *reward = w->at;
    return rn_draw_below(r, 8) ? RN_RUNNING : RN_TERMINATED;
}

static void walk_save(const void *self, void *bytes) { memcpy(bytes, self, 1); }

static int walk_load(void *self, const void *bytes) {
    if (*(const unsigned char *)bytes >= STATES) return 0;
    memcpy(self, bytes, 1);
    return 1;
}

static rn_peer_desc feed_desc(feed *f, walk *w, rn_table *table) {
    rn_peer_desc d;
    memset(&d, 0, sizeof d);
    d.agent.policy = rn_make_table_policy(table, STATES, 2);
    d.agent.env.self = w;
    d.agent.env.reset = walk_reset;
    d.agent.env.step = walk_step;
    d.agent.env.save = walk_save;
    d.agent.env.load = walk_load;
    d.agent.env.obs_dim = d.agent.env.act_dim = d.agent.env.state_size = 1;
    d.agent.env.actions = 2;
    d.agent.method.horizon = 6;
    d.agent.method.discount = 0.9;
    d.agent.method.lookahead = feed_flag(f);
    d.agent.method.tuned = !d.agent.method.lookahead && feed_flag(f);
    d.agent.method.curvature = feed_flag(f);
    d.agent.reach = feed_flag(f) ? 10 : 0;
    d.retry = feed_below(f, 4);
    d.half = feed_flag(f);
    d.index = feed_below(f, 3);
    return d;
}

static size_t feed_message(feed *f, const rn_peer *p, unsigned char *to) {
    const uint8_t b = feed_byte(f);
    rni_wire w = rni_wire_make(b < 240 ? RNI_HUB : b, feed_byte(f) < 200 ? RNI_PLAN : RNI_REFUSAL);
    const size_t numbers = feed_byte(f) < 240 ? DIM : feed_below(f, DIM + 1);
    if (feed_byte(f) > 240) w.kind = 1 + (uint32_t)feed_below(f, 5);
    w.form = w.kind == RNI_ROW || w.kind == RNI_PLAN ? (feed_flag(f) ? 4 : 8) : 0;
    w.dim = numbers;
    w.round = p->newest + feed_below(f, 4);
    if (feed_byte(f) > 240) w.round = feed_u64(f);
    w.a = w.kind == RNI_PLAN ? aggi_bits(feed_double(f)) : feed_below(f, RN_REASON_COUNT + 2);
    for (size_t i = 0; i < numbers && w.form; i++) {
        const double x = feed_double(f);
        const float y = x > 1e30 || x < -1e30 ? 1 : (float)x;
        uint32_t bits;
        memcpy(&bits, &y, sizeof bits);
        rni_put(to + RNI_WIRE_HEAD + i * w.form, w.form == 8 ? aggi_bits(x) : bits, w.form);
    }
    return rni_seal(to, p->desc.run, &w);
}

static void check_receive(feed *f, rn_peer *p, void *block, size_t size) {
    unsigned char *message = (unsigned char *)need(malloc(LONGEST));
    unsigned char *before = (unsigned char *)need(malloc(size));
    const int raw = feed_byte(f) < 32;
    const size_t length = raw ? feed_below(f, LONGEST + 1) : feed_message(f, p, message);
    unsigned char *exact;
    for (size_t i = 0; raw && i < length; i++) message[i] = feed_byte(f);
    exact = (unsigned char *)need(malloc(length + !length));
    memcpy(exact, message, length);
    memcpy(before, block, size);
    if (rn_peer_receive(p, exact, length) != RN_ACCEPTED) PROMISE(!memcmp(before, block, size));
    free(exact);
    free(before);
    free(message);
}

/* in any form: a row may go as halves, which rni_numbers_finite() does not know */
static int all_numbers_finite(const rni_wire *w) {
    for (size_t i = 0; i < (size_t)w->dim; i++)
        if (!aggi_finite(rni_number_at(w, i, 1))) return 0;
    return 1;
}

static void check_letters(rn_peer *p) {
    size_t count = 0;
    rn_letter m;
    rni_wire w;
    while (rn_peer_next(p, &m)) {
        PROMISE(++count <= 2);
        PROMISE(rni_unseal((const unsigned char *)m.bytes, m.size, p->desc.run, &w) == RN_ACCEPTED);
        PROMISE(w.sender == p->desc.index && rn_message_sender(m.bytes, m.size) == w.sender);
        if (w.kind == RNI_ROW) PROMISE((w.round > 0 || forged) && all_numbers_finite(&w));
    }
}

static void check_saving(feed *f, rn_peer *p) {
    const size_t size = rn_peer_save_size(p);
    unsigned char *bytes = (unsigned char *)need(malloc(size));
    PROMISE(rn_peer_save(p, bytes, size) == RN_OK);
    if (feed_flag(f)) {
        const size_t at = feed_byte(f) % size;
        bytes[at] ^= 1;
        PROMISE(rn_peer_load(p, bytes, size) != RN_OK);
        bytes[at] ^= 1;
    }
    PROMISE(rn_peer_load(p, bytes, size) == RN_OK);
    if (feed_byte(f) < 64) {
        feed_forge(f, bytes, size, RNI_SAVED_HEAD);
        const rn_status s = rn_peer_load(p, bytes, size);
        PROMISE(s == RN_OK || is_refusal(s));
        forged |= s == RN_OK;
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    feed f = feed_make(data, size);
    walk w = {0};
    rn_table table;
    const rn_peer_desc d = feed_desc(&f, &w, &table);
    const size_t block_size = rn_peer_size(&d);
    void *block = need(malloc(block_size + 1));
    rn_peer *p;
    uint64_t now = 0;
    forged = 0;
    memset(block, 0, block_size);
    PROMISE(rn_peer_init(&p, &d, block, block_size) == RN_OK);
    while (f.left) {
        const uint8_t what = feed_byte(&f);
        if (what < 120) {
            check_receive(&f, p, block, block_size);
        } else if (what < 220) {
            (void)rn_peer_tick(p, now += feed_below(&f, 4), feed_below(&f, 9), NULL);
            if (p->agent->has_d) PROMISE(all_finite(p->agent->d, DIM));
        } else if (what < 240) {
            check_letters(p);
        } else if (what < 254) {
            check_saving(&f, p);
        } else if (what == 255) {
            rn_peer_leave(p);
        }
    }
    free(block);
    return 0;
}
