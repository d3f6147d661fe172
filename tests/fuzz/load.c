/* rn_trainer_load() of any bytes, with a right CRC, so that they get past it. Promised: refused,
   and nothing changed; or taken, and then it is exactly what was in the bytes, it can be saved,
   theta is finite, and training goes on: within rounds that have no more steps than the desc
   allows, and the policy is given nothing that environment and policy could not have made. */
#include "implementation.h"
#include "resnharpg.h"
#include <math.h>
#include "common.h"
#include "tiny.h"
#include "saved.h"
#include "fuzz/fuzz.h"

static int is_refusal(rn_status s) {
    return s == RN_ERR_FORMAT || s == RN_ERR_MISMATCH || s == RN_ERR_CORRUPT;
}

/* bytes of the input's own, or those of an honest state with some words changed */
static bytes forge(feed *f, const rn_trainer *t) {
    bytes b = saved(t);
    if (feed_byte(f) < 16) {
        /* the head of an honest state, to get inside */
        const size_t head = f->left % 33, size = head + f->left + 8;
        unsigned char *own = (unsigned char *)need(malloc(size));
        memcpy(own, b.at, head);
        for (size_t i = head; i + 8 < size; i++) own[i] = feed_byte(f);
        free(b.at);
        b.at = own;
        b.size = size;
    }
    while (f->left && b.size > 16) {
        const size_t high = feed_byte(f), at = (high << 8 | feed_byte(f)) * 4 % (b.size - 15);
        const uint64_t word = feed_flag(f) ? feed_u64(f) : feed_size(f);
        for (size_t i = 0; i < 8; i++) b.at[at + i] = (unsigned char)(word >> (8 * i));
        if (feed_byte(f) == 255) b.size -= feed_byte(f) % (b.size - 15);
    }
    reseal(b);
    return b;
}

static void go_on(setup *s, rn_trainer *t) {
    double score = 0;
    for (int i = 0; i < 3; i++) {
        const rn_status st = rn_trainer_run_round(t);
        bytes b;
        PROMISE(st == RN_OK || st == RN_ERR_AGGREGATE || st == RN_ERR_THETA);
        PROMISE(all_finite(rn_trainer_theta(t), s->p.policy.dim));
        b = saved(t);
        PROMISE(rn_trainer_load(t, b.at, b.size) == RN_OK);
        free(b.at);
    }
    /* nobody is stuck */
    for (size_t i = 0; i < TEAM; i++) PROMISE(rn_trainer_agent_status(t, i) != RN_ERR_ORDER);
    PROMISE(!s->g.broken);
    {
        walk w;
        const rn_env evaluation = walk_env(&w, &s->m, s->p.table);
        PROMISE(rn_trainer_evaluate(t, &evaluation, 1, &score) == RN_OK && isfinite(score));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static setup s;
    feed f = feed_make(data, size);
    rn_trainer *t;
    rn_status st;
    bytes b, before;
    size_t rounds_done, steps;
    setup_make(&s, (int)feed_below(&f, KINDS));
    PROMISE(rn_trainer_create(&t, &s.d) == RN_OK);
    for (rounds_done = feed_below(&f, 3); rounds_done > 0; rounds_done--)
        PROMISE(rn_trainer_run_round(t) == RN_OK);
    if (feed_flag(&f)) (void)rn_trainer_tick(t, feed_below(&f, 40), NULL);
    steps = feed_below(&f, 8);
    b = forge(&f, t);
    if (steps) (void)rn_trainer_tick(t, steps, NULL); /* elsewhere, so that a partial load shows */
    before = saved(t);
    st = rn_trainer_load(t, b.at, b.size);
    PROMISE(st == RN_OK || is_refusal(st));
    PROMISE(same_state(t, st == RN_OK ? b : before));
    if (st == RN_OK) go_on(&s, t);
    free(b.at);
    free(before.at);
    rn_trainer_destroy(t);
    return 0;
}
