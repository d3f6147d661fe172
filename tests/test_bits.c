/* Same bits everywhere: a hash over the results of every rule and pre-step on fixed rows. It must not change with the
   compiler, the optimisation level, the instruction set or AGG_NO_DISPATCH; `make bits` tries them. A change of the
   algorithm that is meant to change results changes the hashes too; a failure prints the new one. */
#define AGGREGATORS_IMPLEMENTATION
#include "aggregators.h"
#include "greatest.h"
#include <inttypes.h>
#include "common.h"

#ifdef AGG_DOUBLE
static const uint64_t golden[AGG_RULE_COUNT] = {
    0xd7de7cec4cfa66d8u, 0x7ebe704f4ba1f296u, 0xa4c17ec12945cabdu, 0x0cdea57647514839u,
    0x83cc4adc137ab7aau, 0x827eeb60d14b3061u, 0x72bb82a1c5b13d1bu, 0x4b8a607f873e44ebu,
    0xc99a8ad66283ba08u, 0xa59c6021f25b8551u, 0x0eb9ffe60c706777u, 0x22fa3a5221786399u,
    0x569cbc700626eca5u, 0x5d20925212373beeu
};
#else
static const uint64_t golden[AGG_RULE_COUNT] = {
    0x092980649a49fdecu, 0x8a2d5660ae505b22u, 0xcca341e8878e55c9u, 0xa93e932da8374d20u,
    0x77b554f44db630c7u, 0x928fc84cbaf0955cu, 0xe95b1c78381d9543u, 0xbbafa875e2f44d48u,
    0x4895156b19fc31adu, 0xa2ce3f587e7a4f4cu, 0x6ba145ce6987bcf7u, 0x0a32110c63a79c8fu,
    0x2668d8079f6d161cu, 0xf64d2115fd61d53cu
};
#endif

/* sums of halves of integers: the rows themselves are exact whatever the arithmetic */
static void fill_exact(rows *x, rng *r) {
    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < x->dim; k++) {
            double v = 0;
            for (int t = 0; t < 4; t++) v += (double)rng_below(r, 1u << 20) / 1048576.0 - 0.5;
            rows_at(x, i)[k] = (agg_real)(v + (i < 2 ? 3 : 0)); /* two liars */
        }
}

static uint64_t hash_row(uint64_t h, const agg_real *v, size_t n) { /* FNV-1a over values of the bit patterns */
    for (size_t k = 0; k < n; k++) {
        uint64_t bits = 0;
        if (sizeof(agg_real) == sizeof(uint64_t)) memcpy(&bits, &v[k], sizeof(agg_real));
        else { uint32_t b; memcpy(&b, &v[k], sizeof b); bits = b; }
        for (int byte = 0; byte < (int)sizeof(agg_real); byte++) h = (h ^ (bits >> 8 * byte & 255)) * 0x100000001b3u;
    }
    return h;
}

TEST bits(agg_rule rule) {
    static const size_t dims[] = { 1, 37, 300, 5000 };
    uint64_t h = 0xcbf29ce484222325u;
    rng r = rng_make(2024);
    for (size_t c = 0; c < sizeof dims / sizeof *dims; c++)
        for (int pre = 0; pre < AGG_PRE_COUNT; pre++) {
            const size_t n = 11;
            agg_desc d = agg_make_desc(rule, n, dims[c], 2);
            rows x = rows_new(n, dims[c]);
            agg_real *out = (agg_real *)need(calloc(dims[c], sizeof *out));
            agg_status s;
            d.pre[1] = (agg_pre)pre;
            d.clip = 2;
            d.bucket = rule == AGG_BULYAN ? 1 : 2;
            d.rng = rng_for_library(&r);
            fill_exact(&x, &r);
            s = run(&d, x.row, out, NULL);
            if (!wrote(s)) FAILm(WHY("%s pre %d dim %zu: %s", agg_rule_name(rule), pre, dims[c], agg_status_text(s)));
            h = hash_row(h, out, dims[c]);
            free(out);
            rows_free(&x);
        }
    if (h != golden[rule]) FAILm(WHY("%s: hash 0x%016" PRIx64 "u", agg_rule_name(rule), h));
    PASS();
}
SUITE(every_rule) {
    for (int rule = 0; rule < AGG_RULE_COUNT; rule++) RUN_TESTp(bits, (agg_rule)rule);
}

GREATEST_MAIN_DEFS();
int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(every_rule);
    GREATEST_MAIN_END();
}
