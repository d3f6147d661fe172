/* replay.h - a journal once more, in one process: the same messages to a hub of the same settings,
   and after every update theta must have the same bits. Or, with nobody failing, all of it anew:
   rn_trainer with the same recipe must have the same theta after every round. */
#ifndef REPLAY_H
#define REPLAY_H
#include "journal.h"

typedef struct replay_state { /* as the server saved it */
    uint64_t round, hash;
    unsigned char *bytes;
    size_t size;
} replay_state;

typedef struct replay {
    run *run;
    rn_hub *hub;
    replay_state
        saved[2];        /* the last, and the one before: the last may not have reached the disk */
    rn_trainer *trainer; /* NULL: not wanted */
    int print;
    uint64_t messages, updates, refused, restarts, missing, stale; /* rounds, rows */
    rn_status status; /* of a round that the last tick has ended; else RN_MORE */
} replay;

NET_FN void replay_fail(const char *what, uint64_t round) {
    fprintf(stderr, "round %llu: %s\n", (unsigned long long)round, what);
    exit(1);
}

NET_FN void replay_print(const replay *p, uint64_t round, const unsigned char *ages) {
    printf("round %llu:", (unsigned long long)round);
    for (size_t i = 0; i < p->run->agents; i++) {
        if (ages[i] == 0) printf(" %d", (int)i);
        if (ages[i] != 0 && ages[i] < 255) printf(" %d(-%d)", (int)i, ages[i]);
    }
    printf("%s\n", p->status == RN_OK ? "" : ": no update");
}

NET_FN void replay_update(replay *p, const unsigned char *at, size_t size) {
    const uint64_t round = journal_value(at, 8);
    unsigned char ages[KEYS_MOST];
    if (size != 24 + p->run->agents) replay_fail("a record of the wrong length", round);
    if (p->status == RN_MORE || journal_value(at + 8, 8) != (uint64_t)p->status)
        replay_fail("the server ended the round, the replay does not", round);
    if (rn_server_current_round(rn_hub_server(p->hub)) != round + 1)
        replay_fail("another round", round);
    journal_ages(p->hub, p->run->agents, ages);
    if (memcmp(ages, at + 24, p->run->agents) != 0) replay_fail("other rows", round);
    if (journal_theta(p->hub, p->run) != journal_value(at + 16, 8))
        replay_fail("theta has other bits", round);
    for (size_t i = 0; i < p->run->agents; i++) {
        p->missing += ages[i] == 255;
        p->stale += ages[i] > 0 && ages[i] < 255;
    }
    p->updates += p->status == RN_OK;
    if (p->print) replay_print(p, round, ages);
    p->status = RN_MORE; /* compared: no second record may claim it */
    if (!p->trainer) return;
    (void)rn_trainer_run_round(p->trainer);
    if (run_hash(rn_trainer_theta(p->trainer), p->run->recipe.policy.dim) !=
        journal_value(at + 16, 8))
        replay_fail("rn_trainer's theta has other bits", round);
}

NET_FN void replay_save(replay *p, const unsigned char *at) {
    replay_state *s = &p->saved[0];
    free(p->saved[1].bytes);
    p->saved[1] = p->saved[0];
    s->round = journal_value(at, 8);
    s->hash = journal_value(at + 8, 8);
    s->size = rn_hub_save_size(p->hub);
    s->bytes = (unsigned char *)malloc(s->size);
    if (!s->bytes || rn_hub_save(p->hub, s->bytes, s->size) != RN_OK)
        replay_fail("cannot save", s->round);
}

/* the server was started again: with one of its two last states, or afresh */
NET_FN void replay_load(replay *p, const unsigned char *at) {
    const uint64_t round = journal_value(at, 8), hash = journal_value(at + 8, 8);
    int k = 0;
    p->hub = run_hub(p->run);
    p->status = RN_MORE; /* who dies may leave a tick without its update */
    p->restarts++;
    if (p->trainer)
        replay_fail("the server was started again: rn_trainer knows nothing of it", round);
    while (k < 2 && (p->saved[k].round != round || p->saved[k].hash != hash)) k++;
    if (k < 2 && rn_hub_load(p->hub, p->saved[k].bytes, p->saved[k].size) != RN_OK)
        replay_fail("cannot load", round);
    if (journal_theta(p->hub, p->run) != hash) replay_fail("the state is unknown", round);
}

NET_FN void replay_tick(replay *p, uint64_t now) {
    const uint64_t round = rn_server_current_round(rn_hub_server(p->hub));
    if (p->status != RN_MORE) replay_fail("the record of an update is missing", round - 1);
    p->status = rn_hub_tick(p->hub, now, NULL);
}

NET_FN void replay_record(replay *p, int kind, const unsigned char *at, size_t size) {
    static const char kinds[] = "MTUCL";
    static const size_t least[] = {4, 8, 24, 16, 16};
    const char *known = strchr(kinds, kind);
    if (!kind || !known || size < least[known - kinds]) run_refuse("the journal", "is damaged");
    switch (kind) {
    case 'M':
        p->messages++;
        if (rn_hub_receive(p->hub, (size_t)journal_value(at, 4), at + 4, size - 4) != RN_ACCEPTED)
            replay_fail("a message that the server took is refused",
                        rn_server_current_round(rn_hub_server(p->hub)));
        break;
    case 'T': replay_tick(p, journal_value(at, 8)); break;
    case 'U': replay_update(p, at, size); break;
    case 'C': replay_save(p, at); break;
    default: replay_load(p, at); break;
    }
}

/* all agents in this process */
NET_FN rn_trainer *replay_trainer(const run *r) {
    run_place *places = (run_place *)calloc(r->agents, sizeof *places);
    rn_env *envs = (rn_env *)calloc(r->agents, sizeof *envs);
    rn_trainer_desc d = r->recipe;
    rn_trainer *t = NULL;
    if (!places || !envs) run_refuse("the trainer", "no memory");
    for (size_t i = 0; i < r->agents; i++) envs[i] = run_env(r, &places[i]);
    d.envs = envs;
    const rn_status s = rn_trainer_create(&t, &d);
    if (s != RN_OK) run_refuse("the trainer", rn_status_text(s));
    return t;
}

NET_FN int replay_main(int argc, char **argv) {
    enum { TRAINER, PRINT, PATH, OPTIONS };
    option o[OPTIONS] = {{"--trainer",
                          "play all agents here too: with nobody failing the bits are the same",
                          NULL, 0, OPTION_FLAG, 0},
                         {"--print", "which rows were in each round; 3(-2): of two rounds before",
                          NULL, 0, OPTION_FLAG, 0},
                         {"journal", "what `server --journal` wrote", NULL, 0, 0, 0}};
    static run r;
    replay p;
    char head[320];
    size_t size = 0, at;
    options_read(argc, argv, o, OPTIONS, "usage: federation replay [options] journal\n");
    if (!o[PATH].text) options_refuse("replay", "which journal?");
    const unsigned char *bytes = file_read(o[PATH].text, FILE_MOST, &size);
    if (!bytes) run_refuse(o[PATH].text, strerror(errno));
    if (size < 13 || memcmp(bytes, "federation 1 ", 13) != 0 ||
        !run_read(&r, (const char *)bytes + 13))
        run_refuse(o[PATH].text, "not a journal");
    if (r.agents > KEYS_MOST) run_refuse(o[PATH].text, "more agents than there can be");
    run_open(&r);
    memset(&p, 0, sizeof p);
    p.run = &r;
    p.hub = run_hub(&r);
    p.status = RN_MORE;
    p.print = o[PRINT].number != 0;
    if (o[TRAINER].number) p.trainer = replay_trainer(&r);
    journal_head(&r, head, sizeof head);
    const size_t whole = journal_whole(bytes, size, head);
    if (!whole) run_refuse(o[PATH].text, "not a journal: its first line is not as written");
    for (at = strlen(head); at < whole; at += 5 + (size_t)journal_value(bytes + at + 1, 4))
        replay_record(&p, bytes[at], bytes + at + 5, (size_t)journal_value(bytes + at + 1, 4));
    printf("replayed: %llu updates, %llu messages, %llu restarts; rows missing %llu, stale %llu; "
           "theta has the same bits after every one%s\n",
           (unsigned long long)p.updates, (unsigned long long)p.messages,
           (unsigned long long)p.restarts, (unsigned long long)p.missing,
           (unsigned long long)p.stale, p.trainer ? ", and rn_trainer's are the same" : "");
    return 0;
}
#endif /* REPLAY_H */
