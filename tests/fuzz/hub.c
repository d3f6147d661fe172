/* The server's side of a federation, sent anything: bytes as they come, and messages whose checksum
   fits, with every field of the input's. Promised: a message that is refused changes nothing but
   the report; whatever came, theta is finite, a round ends only with a quorum and moves t by one,
   what is to be sent is well formed, and the state can be saved and loaded, one that was forged,
   checksums and all, too, if it was taken. Bound: as agg_aggregate(). */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include <math.h>
#include "common.h"
#include "fuzz/fuzz.h"

enum { MOST_DIM = 5, LONGEST = 80 + 8 * (MOST_DIM + 1) };

static rn_hub_desc feed_desc(feed *f) {
    rn_hub_desc d;
    memset(&d, 0, sizeof d);
    d.server.n = 1 + feed_below(f, 6);
    d.server.dim = 1 + feed_below(f, MOST_DIM);
    d.server.agg.rule = (agg_rule)feed_below(f, AGG_RULE_COUNT);
    d.server.agg.f = feed_below(f, 3);
    d.server.agg.pre[0] = (agg_pre)(feed_byte(f) > 192 ? feed_below(f, AGG_PRE_COUNT) : 0);
    d.server.agg.clip = 1;
    d.server.kl = feed_flag(f) ? 0.01 : 0;
    d.server.gamma = rn_schedule_constant(0.5);
    d.server.eta = rn_schedule_constant(0.5);
    d.patience = feed_below(f, 4);
    d.quorum = feed_below(f, 4);
    d.stale = feed_flag(f) ? feed_below(f, 4) : 0;
    d.resend = feed_below(f, 3);
    return d;
}

/* mostly what fits */
static uint64_t feed_near(feed *f, uint64_t right) {
    const uint8_t b = feed_byte(f);
    return b < 200 ? right : b < 248 ? right + b - 224 : feed_u64(f);
}

/* returns the bytes of a message whose checksum fits */
static size_t feed_message(feed *f, const rn_hub *h, size_t from, unsigned char *to) {
    static const uint32_t forms[] = {sizeof(rn_real), 2, 4, 8};
    const size_t dim = h->server->desc.dim;
    rni_wire w = rni_wire_make((uint32_t)feed_near(f, from), 1 + (uint32_t)feed_below(f, 5));
    const size_t numbers = feed_byte(f) < 240 ? dim : feed_below(f, MOST_DIM + 1);
    size_t size;
    w.form = w.kind == RNI_ROW || w.kind == RNI_PLAN ? forms[feed_below(f, 4)] : 0;
    w.dim = numbers;
    w.round = feed_near(f, h->server->t);
    w.answers = feed_near(f, rni_seal_of(h->plan, h->plan_size));
    w.a = feed_u64(f);
    w.b = feed_u64(f);
    for (size_t i = 0; i < numbers * w.form; i++) to[RNI_WIRE_HEAD + i] = feed_byte(f);
    size = rni_seal(to, h->desc.run, &w);
    if (feed_byte(f) < 250) return size;
    rni_put(to + 40, feed_u64(f), 8); /* a length that is not that of the numbers */
    rni_put(to + size - 8, rni_checksum(to, size - 8), 8);
    return size;
}

static void check_receive(feed *f, rn_hub *h, void *block, size_t size) {
    const size_t n = h->server->desc.n, from = feed_below(f, n + 1);
    unsigned char *message = (unsigned char *)need(malloc(LONGEST));
    unsigned char *before = (unsigned char *)need(malloc(size));
    const int raw = feed_byte(f) < 32;
    size_t length = raw ? feed_below(f, LONGEST + 1) : feed_message(f, h, from, message);
    unsigned char *exact;
    rn_reason why;
    for (size_t i = 0; raw && i < length; i++) message[i] = feed_byte(f);
    exact = (unsigned char *)need(malloc(length + !length));
    memcpy(exact, message, length);
    memcpy(before, block, size);
    why = rn_hub_receive(h, from, exact, length);
    PROMISE((unsigned)why < RN_REASON_COUNT);
    if (from >= n) PROMISE(why == RN_REFUSED_SENDER);
    if (why != RN_ACCEPTED && from < n) {
        const rni_member *was =
            (const rni_member *)(const void *)(before + ((unsigned char *)&h->member[from] -
                                                         (unsigned char *)block));
        h->member[from].report.messages[why]--;
        h->member[from].owes_reason = was->owes_reason;
    }
    if (why != RN_ACCEPTED) PROMISE(!memcmp(before, block, size));
    free(exact);
    free(before);
    free(message);
}

static void check_tick(feed *f, rn_hub *h, uint64_t *now) {
    const size_t t = h->server->t, in = rn_hub_rows_in(h);
    rn_progress p;
    rn_status s;
    *now += feed_below(f, 4);
    s = rn_hub_tick(h, *now, feed_flag(f) ? &p : NULL);
    PROMISE(h->server->t == t + (s != RN_MORE && t < RNI_MOST(size_t)));
    if (s != RN_MORE) PROMISE(in >= rn_hub_quorum(h) && rn_hub_rows_in(h) == 0);
    PROMISE(s == RN_OK || s == RN_MORE || s == RN_ERR_AGGREGATE || s == RN_ERR_THETA);
    PROMISE(all_finite(rn_server_theta(h->server), h->server->desc.dim));
}

static void check_letters(rn_hub *h) {
    size_t count = 0;
    rn_letter m;
    rni_wire w;
    while (rn_hub_next(h, &m)) {
        PROMISE(m.to < h->server->desc.n && ++count <= 2 * h->server->desc.n);
        PROMISE(rni_unseal((const unsigned char *)m.bytes, m.size, h->desc.run, &w) == RN_ACCEPTED);
        PROMISE(w.kind == RNI_PLAN || w.kind == RNI_REFUSAL);
    }
}

static void check_saving(feed *f, rn_hub *h) {
    const size_t size = rn_hub_save_size(h);
    unsigned char *bytes = (unsigned char *)need(malloc(size));
    PROMISE(rn_hub_save(h, bytes, size) == RN_OK);
    if (feed_flag(f)) {
        const size_t at = feed_byte(f) % size;
        bytes[at] ^= 1;
        PROMISE(rn_hub_load(h, bytes, size) != RN_OK);
        bytes[at] ^= 1;
    }
    PROMISE(rn_hub_load(h, bytes, size) == RN_OK);
    if (feed_byte(f) < 64) {
        feed_forge(f, bytes, size, RNI_SAVED_HEAD + h->server->desc.n);
        const rn_status s = rn_hub_load(h, bytes, size);
        PROMISE(s == RN_OK || is_refusal(s));
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    feed f = feed_make(data, size);
    const rn_hub_desc d = feed_desc(&f);
    const size_t block_size = rn_hub_size(&d);
    void *block;
    rn_hub *h;
    uint64_t now = 0;
    if (!block_size) return 0;
    block = need(malloc(block_size));
    memset(block, 0, block_size);
    if (rn_hub_init(&h, &d, block, block_size) == RN_OK)
        while (f.left) {
            const uint8_t what = feed_byte(&f);
            if (what < 180)
                check_receive(&f, h, block, block_size);
            else if (what < 225)
                check_tick(&f, h, &now);
            else if (what < 250)
                check_letters(h);
            else
                check_saving(&f, h);
        }
    free(block);
    return 0;
}
