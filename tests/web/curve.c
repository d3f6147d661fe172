/* The first rounds of the playground's race without a browser: return and cosine of both runs, as
   JSON. tests/web/page.js asks the page for the same; they must be the same numbers, bit by bit.
   usage: curve TASK ROUNDS SEED */
#include "../../examples/web/playground.c"
#include <inttypes.h>

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

int main(int argc, char **argv) {
    const int task = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 30;
    const unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    const int rule = web_recipe_rule(task);
    const int pre[2] = {web_recipe_pre(task, 0), web_recipe_pre(task, 1)};
    if (!web_start(task, 10, 3, rule, pre[0], pre[1], 0, seed, 0x380)) return 1;
    printf("[");
    for (int t = 0; t <= rounds; t++) {
        while (!web_tick(777)) continue; /* another budget than the page's */
        printf("%s[", t ? "," : "");
        for (int who = 0; who < RUNS; who++)
            printf("%s\"%016" PRIx64 "\",\"%016" PRIx64 "\"", who ? "," : "",
                   bits_of(web_score(who)), bits_of(web_cosine(who)));
        printf("]\n");
    }
    return printf("]\n") < 0;
}
