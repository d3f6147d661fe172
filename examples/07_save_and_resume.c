/* 07: save and resume. A run is broken off in the middle of a round, its bytes go to a file, and
   another trainer, that knows nothing but the desc, goes on from them.
   The idea: a resumed run has the same bits as one that was never broken off; and bytes that are
   damaged, or of another run, change nothing.
   Build: mkdir -p build; cc -O2 -I. examples/07_save_and_resume.c -o 07_save_and_resume -lm
   It writes build/cartpole.state. */
#define RESNHARPG_IMPLEMENTATION
#include "resnharpg.h"
#include "envs/cartpole.h"
#include "explain.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AGENTS = 10, F = 3, ROUNDS = 40 };

/* everything that a trainer points to; a second life has its own */
typedef struct life {
    cartpole poles[AGENTS];
    rn_net net;
    rn_trainer *trainer;
} life;

static void fail(const char *what, rn_status s) {
    fprintf(stderr, "%s: %s\n", what, rn_status_text(s));
    exit(1);
}

/* The same desc every time: a saved state holds what was learnt, not how the learner is made. */
static void be_born(life *l, size_t units) {
    rn_env envs[AGENTS];
    rn_net_desc shape = rn_make_net_desc(4, 2);
    memset(l, 0, sizeof *l);
    shape.hidden[0] = shape.hidden[1] = units;
    for (int i = 0; i < AGENTS; i++) envs[i] = cartpole_env(&l->poles[i]);
    rn_trainer_desc d = rn_make_trainer_desc(AGENTS, F, envs, rn_make_net_policy(&l->net, &shape));
    d.adversaries = F;
    if (explain_trainer(rn_trainer_create(&l->trainer, &d), &d) != RN_OK) exit(1);
}

/* To a file beside it first, then in its place: who pulls the plug finds the old one or the new.
   0, or -1 if it cannot. */
static int save_file(const rn_trainer *t, const char *path) {
    const size_t size = rn_trainer_save_size(t);
    unsigned char *bytes = (unsigned char *)malloc(size);
    const rn_status s = bytes ? rn_trainer_save(t, bytes, size) : RN_ERR_MEMORY;
    char beside[64];
    int bad = 1;
    if (s != RN_OK) fail("save", s);
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *out = fopen(beside, "wb");
    if (out) {
        bad = fwrite(bytes, 1, size, out) != size;
        bad |= fclose(out) != 0;
    }
    free(bytes);
    return bad || rename(beside, path) != 0 ? -1 : 0;
}

static unsigned char *read_file(const char *path, size_t *size) {
    static unsigned char bytes[1 << 20];
    FILE *in = fopen(path, "rb");
    *size = in ? fread(bytes, 1, sizeof bytes, in) : 0;
    if (in) fclose(in);
    return bytes;
}

int main(void) {
    static life calm, first, second, other;
    static const char path[] = "build/cartpole.state";
    size_t size, broken_at;
    be_born(&calm, 16);
    for (int t = 0; t < ROUNDS; t++)
        if (rn_trainer_run_round(calm.trainer) != RN_OK) return 1;

    be_born(&first, 16);
    while (rn_trainer_rounds_done(first.trainer) < ROUNDS / 2)
        if (rn_trainer_run_round(first.trainer) != RN_OK) return 1;
    for (int i = 0; i < 7; i++) (void)rn_trainer_tick(first.trainer, 333, NULL);
    broken_at = rn_trainer_rounds_done(first.trainer);
    if (save_file(first.trainer, path) != 0) return fprintf(stderr, "cannot write %s\n", path), 1;
    rn_trainer_destroy(first.trainer); /* and the power fails */

    unsigned char *bytes = read_file(path, &size);
    printf("broken off within round %d; %s has %d bytes\n\n", (int)broken_at + 1, path, (int)size);
    be_born(&second, 16);
    bytes[size / 2] ^= 1;
    printf("one bit of it turned over:   %s\n",
           rn_status_text(rn_trainer_load(second.trainer, bytes, size)));
    bytes[size / 2] ^= 1;
    printf("its second half missing:     %s\n",
           rn_status_text(rn_trainer_load(second.trainer, bytes, size / 2)));
    be_born(&other, 8);
    printf("into a network of another size: %s\n",
           rn_status_text(rn_trainer_load(other.trainer, bytes, size)));
    const rn_status s = rn_trainer_load(second.trainer, bytes, size);
    printf("into one with the same desc: %s\n\n", rn_status_text(s));
    if (s != RN_OK) return 1;
    while (rn_trainer_rounds_done(second.trainer) < ROUNDS)
        if (rn_trainer_run_round(second.trainer) != RN_OK) return 1;
    const int same = memcmp(rn_trainer_theta(calm.trainer), rn_trainer_theta(second.trainer),
                            calm.net.dim * sizeof(rn_real)) == 0;
    printf("Verdict: after %d rounds the resumed run has %s as the one that was never broken off\n",
           ROUNDS, same ? "the same bits" : "OTHER BITS than expected, and not the same");
    rn_trainer_destroy(calm.trainer);
    rn_trainer_destroy(second.trainer);
    rn_trainer_destroy(other.trainer);
    return !same;
}
