/* agent.h - an agent's program: a peer, a socket, a file for the state; and adversaries, for
   experiments. */
#ifndef AGENT_H
#define AGENT_H
#include "server.h"

/* what an adversary does with its row (vector), with its world, or with its messages */
typedef enum misdeed { AS_TOLD, SILENT, FLOODS, GARBLES, REPLAYS } misdeed;

typedef struct net_attack {
    const char *name, *help;
    agg_attack_kind vector;
    int has_vector, random_action, flip_reward;
    misdeed misdeed;
} net_attack;

/* Of the attacks in aggregators.h those that need no other agent's row: that is what a client can
   do who sees nothing but its own. */
/* clang-format off */
static const net_attack net_attacks[] = {
    {"none", "honest", AGG_ATTACK_ZERO, 0, 0, 0, AS_TOLD},
    {"sign-flip", "-2.5 times its row", AGG_ATTACK_SIGN_FLIP, 1, 0, 0, AS_TOLD},
    {"noise", "its row and uniform noise", AGG_ATTACK_NOISE, 1, 0, 0, AS_TOLD},
    {"gaussian", "its row and normal noise", AGG_ATTACK_GAUSSIAN, 1, 0, 0, AS_TOLD},
    {"zero", "zeros", AGG_ATTACK_ZERO, 1, 0, 0, AS_TOLD},
    {"nan", "not numbers", AGG_ATTACK_NAN, 1, 0, 0, AS_TOLD},
    {"inf", "infinities", AGG_ATTACK_INF, 1, 0, 0, AS_TOLD},
    {"random-action", "its actions do not look at the state", AGG_ATTACK_ZERO, 0, 1, 0, AS_TOLD},
    {"flip-reward", "its rewards have the other sign", AGG_ATTACK_ZERO, 0, 0, 1, AS_TOLD},
    {"silence", "joins and never sends a row", AGG_ATTACK_ZERO, 0, 0, 0, SILENT},
    {"flood", "everything a thousand times", AGG_ATTACK_ZERO, 0, 0, 0, FLOODS},
    {"garbage", "random bytes, and its row with a bit flipped", AGG_ATTACK_ZERO, 0, 0, 0, GARBLES},
    {"replay", "what another agent had recorded, see --of", AGG_ATTACK_ZERO, 0, 0, 0, REPLAYS}};
/* clang-format on */

enum { NET_ATTACKS = sizeof net_attacks / sizeof *net_attacks };

typedef struct agent {
    run run;
    run_place place;
    size_t index;
    rn_peer *peer;
    const char *address;
    int plain;
    key_pair key;
    char server_key[KEY_TEXT];
    wire wire;
    wire_state link;
    const net_attack *attack;
    agg_rng rng;
    rn_random random; /* the adversary's own */
    const char *state;
    FILE *record;          /* what is sent, for a replay by another */
    unsigned char *stolen; /* such a record */
    size_t stolen_size, stolen_at;
    uint64_t patience, heard; /* ms without the server after which it ends; 0: none */
    uint64_t opened;          /* when the socket was */
    uint64_t reopen;          /* ms of silence after which it is made anew */
    uint64_t rows;            /* made by the agent */
    int quiet, refusals;
    rn_reason told;
} agent;

NET_FN void agent_say(const agent *a, const char *text) {
    if (a->quiet) return;
    printf("agent %d: %s\n", (int)a->index, text);
    fflush(stdout);
}

NET_FN void agent_fail(const agent *a, const char *text) {
    fflush(stdout);
    fprintf(stderr, "agent %d: %s\n", (int)a->index, text);
    exit(1);
}

/* ---- the state. It is saved before a row is sent: what the server has seen is never forgotten. */
NET_FN void agent_save(agent *a) {
    const size_t size = rn_peer_save_size(a->peer);
    void *bytes = a->state ? malloc(size) : NULL;
    if (bytes && rn_peer_save(a->peer, bytes, size) == RN_OK &&
        file_replace(a->state, bytes, size, 0) != 0)
        agent_fail(a, strerror(errno));
    free(bytes);
}

/* What cannot be used may be somebody's all the same: a key, another agent's state. It gets another
   name, and the agent joins afresh. */
NET_FN void agent_put_aside(const agent *a, rn_status why) {
    char aside[512], text[800];
    if (snprintf(aside, sizeof aside, "%s.unused", a->state) >= (int)sizeof aside)
        run_refuse(a->state, strerror(ENAMETOOLONG));
    if (rename(a->state, aside) != 0) run_refuse(a->state, strerror(errno));
    snprintf(text, sizeof text, "its state: %s; it begins afresh, and that is now %s",
             rn_status_text(why), aside);
    agent_say(a, text);
}

NET_FN void agent_load(agent *a) {
    size_t size = 0;
    unsigned char *bytes = a->state ? file_read(a->state, FILE_MOST, &size) : NULL;
    if (a->state && !bytes && errno != ENOENT) run_refuse(a->state, strerror(errno));
    if (!bytes) return;
    const rn_status s = rn_peer_load(a->peer, bytes, size);
    if (s == RN_OK)
        agent_say(a, "its state: goes on");
    else
        agent_put_aside(a, s);
    free(bytes);
}

/* ---- misdeeds */
NET_FN void agent_alter(void *self, size_t round, rn_real *row) {
    agent *a = (agent *)self;
    agg_attack_desc d;
    (void)round;
    memset(&d, 0, sizeof d);
    d.kind = a->attack->vector;
    d.rng = a->rng;
    (void)agg_attack(&d, NULL, 0, a->run.recipe.policy.dim, row, row);
}

NET_FN void agent_send(agent *a, const void *bytes, size_t size) {
    (void)zmq_send(a->wire.socket, bytes, size, ZMQ_DONTWAIT);
}

/* random bytes, as long as the letter at most; then the letter itself with one bit flipped */
NET_FN void agent_garble(agent *a, const rn_letter *m) {
    unsigned char *bytes = (unsigned char *)malloc(m->size);
    const size_t size = rn_draw_below(&a->rng, m->size);
    if (!bytes) return;
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)rn_random_next(&a->random);
    agent_send(a, bytes, size);
    memcpy(bytes, m->bytes, m->size);
    bytes[rn_draw_below(&a->rng, m->size)] ^= (unsigned char)(1u << rn_draw_below(&a->rng, 8));
    agent_send(a, bytes, m->size);
    free(bytes);
}

/* is the next of another's messages there, whole? */
NET_FN int agent_has_stolen(const agent *a) {
    const size_t left = a->stolen_size - a->stolen_at;
    return left >= 4 && left - 4 >= journal_value(a->stolen + a->stolen_at, 4);
}

/* the next of another's messages, round and round */
NET_FN void agent_replay(agent *a) {
    const unsigned char *at;
    size_t size;
    if (!agent_has_stolen(a)) a->stolen_at = 0;
    if (!agent_has_stolen(a)) return;
    at = a->stolen + a->stolen_at;
    size = (size_t)journal_value(at, 4);
    agent_send(a, at + 4, size);
    a->stolen_at += 4 + size;
}

NET_FN void agent_record(agent *a, const rn_letter *m) {
    unsigned char size[4];
    if (!a->record) return;
    journal_number(size, m->size, 4);
    fwrite(size, 1, 4, a->record);
    fwrite(m->bytes, 1, m->size, a->record);
    fflush(a->record);
}

/* joins and goodbyes are only a head; who is to be heard must join */
NET_FN void agent_send_letter(agent *a, const rn_letter *m) {
    const int is_row = m->size > rn_message_size(0);
    agent_record(a, m);
    switch (is_row ? a->attack->misdeed : AS_TOLD) {
    case SILENT: return;
    case FLOODS:
        for (int k = 0; k < 1000; k++) agent_send(a, m->bytes, m->size);
        return;
    case GARBLES: agent_garble(a, m); return;
    case REPLAYS: agent_replay(a); return;
    default: agent_send(a, m->bytes, m->size);
    }
}

/* ---- the link */
/* ZeroMQ mends what breaks, but for a few endings of a handshake, after which it does not try
   again: then the socket is made anew. */
NET_FN void agent_open_wire(agent *a);

NET_FN void agent_watch(agent *a) {
    const uint64_t now = net_now(), since = a->heard > a->opened ? a->heard : a->opened;
    const wire_state link = wire_watch(&a->wire, a->link);
    if (link != a->link) agent_say(a, wire_words[link]);
    a->link = link;
    if (a->patience && now - a->heard > a->patience) agent_fail(a, wire_words[a->link]);
    if (now - since < a->reopen) return;
    wire_close(&a->wire);
    agent_open_wire(a);
    if (a->link == WIRE_OPEN) a->link = WIRE_LOST;
}

/* The server said no. What no patience mends ends the agent, but not the first time: a damaged
   message may look like it. */
NET_FN void agent_refused(agent *a, rn_reason why) {
    static const rn_reason hopeless[] = {RN_REFUSED_VERSION, RN_REFUSED_RUN,    RN_REFUSED_SENDER,
                                         RN_REFUSED_DIM,     RN_REFUSED_POLICY, RN_REFUSED_METHOD};
    char text[160];
    snprintf(text, sizeof text, "the server refuses: %s%s", rn_reason_text(why),
             why == RN_REFUSED_RUN ? " (--run and --task are as the server's)" : "");
    if (why != a->told) agent_say(a, text);
    a->told = why;
    if (a->attack->misdeed != AS_TOLD) return;
    for (size_t k = 0; k < sizeof hopeless / sizeof *hopeless; k++)
        if (why == hopeless[k] && ++a->refusals >= 3) agent_fail(a, text);
}

/* 1: the run is over */
NET_FN int agent_take(agent *a, const void *bytes, size_t size) {
    if (size == sizeof farewell && memcmp(bytes, farewell, size) == 0) return 1;
    rn_reason why = rn_peer_receive(a->peer, bytes, size);
    a->heard = net_now();
    if (why == RN_ACCEPTED) why = rn_peer_refusal(a->peer);
    if (why != RN_ACCEPTED)
        agent_refused(a, why);
    else
        a->refusals = 0;
    return 0;
}

NET_FN int agent_listen(agent *a, int busy) {
    zmq_pollitem_t items[2] = {{a->wire.socket, 0, ZMQ_POLLIN, 0},
                               {a->wire.monitor, 0, ZMQ_POLLIN, 0}};
    zmq_msg_t body;
    int over = 0;
    (void)zmq_poll(items, 2, busy ? 0 : 50);
    for (int k = 0; k < 2 * WIRE_QUEUE && !over; k++) {
        zmq_msg_init(&body);
        if (zmq_msg_recv(&body, a->wire.socket, ZMQ_DONTWAIT) < 0) break;
        over = agent_take(a, zmq_msg_data(&body), zmq_msg_size(&body));
        zmq_msg_close(&body);
    }
    return over;
}

/* at most so many environment steps before the socket is looked at again */
NET_FN int agent_work(agent *a) {
    const rn_status s = rn_peer_tick(a->peer, net_now(), 20000, NULL);
    const rn_stats stats = rn_agent_stats(rn_peer_agent(a->peer));
    char text[80];
    if (s != RN_OK && s != RN_MORE) agent_say(a, rn_status_text(s));
    if (stats.rounds == a->rows) return s == RN_MORE;
    a->rows = stats.rounds;
    agent_save(a);
    snprintf(text, sizeof text, "round %d: return %.1f", (int)rn_peer_round(a->peer),
             stats.mean_return);
    if (a->rows % 25 == 0) agent_say(a, text);
    return s == RN_MORE;
}

NET_FN int agent_run(agent *a) {
    rn_letter m;
    int over = 0, busy = 0;
    a->heard = net_now();
    while (!over && !stopped) {
        over = agent_listen(a, busy);
        agent_watch(a);
        busy = agent_work(a);
        while (a->link == WIRE_OPEN && rn_peer_next(a->peer, &m)) agent_send_letter(a, &m);
    }
    if (!over) {
        rn_peer_leave(a->peer);
        while (rn_peer_next(a->peer, &m)) agent_send_letter(a, &m);
        zmq_poll(NULL, 0, 100); /* the letter needs a moment */
    }
    agent_say(a, over ? farewell : "stopped");
    wire_close(&a->wire);
    return 0;
}

/* ---- the command line */
/* clang-format off */
enum {
    AG_INDEX, AG_TASK, AG_SEED, AG_RUN, AG_CONNECT, AG_KEYS, AG_KEY, AG_SERVER_KEY, AG_PLAIN,
    AG_STATE, AG_ATTACK, AG_OF, AG_RECORD, AG_HALF, AG_PATIENCE, AG_QUIET, AG_LAST, AG_OPTIONS
};
/* clang-format on */

static option agent_options[AG_OPTIONS] = {
    {"--index", "which agent it is, from 0", NULL, KEYS_MOST, 0, KEYS_MOST - 1},
    {"--task", "the same as the server's (CartPole)", "CartPole", 0, 0, 0},
    {"--seed", "the same as the server's (1)", NULL, 1, 0, 1000000000},
    {"--run", "the same as the server's (run)", "run", 0, 0, 0},
    {"--connect", "where the server is (tcp://localhost:5555)", "tcp://localhost:5555", 0, 0, 0},
    {"--keys", "directory of `federation keys`: agentN.secret, server.public", NULL, 0, 0, 0},
    {"--key", "its secret key file", NULL, 0, 0, 0},
    {"--server-key", "the server's public key file", NULL, 0, 0, 0},
    {"--plain", "no keys, no encryption", NULL, 0, OPTION_FLAG, 0},
    {"--state", "file that its state is kept in; it goes on from there", NULL, 0, 0, 0},
    {"--attack", "makes an adversary of it, see below (none)", "none", 0, 0, 0},
    {"--of", "for `--attack replay`: what another agent recorded", NULL, 0, 0, 0},
    {"--record", "file for all that it sends", NULL, 0, 0, 0},
    {"--half", "rows in 16 bits a number", NULL, 0, OPTION_FLAG, 0},
    {"--patience", "seconds without the server after which it gives up; 0: never (0)", NULL, 0, 0,
     100000000},
    {"--quiet", "say nothing unless it fails", NULL, 0, OPTION_FLAG, 0},
    {"", "", NULL, 0, 0, 0}};

NET_FN const char *agent_usage(void) {
    static char text[2048] = "usage: federation agent --index N [options]\n"
                             "Plays, learns and sends its row, until the server says that it is "
                             "over.\nAttacks:\n";
    size_t n = strlen(text);
    for (int k = 0; k < NET_ATTACKS; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "  %-13s %s\n", net_attacks[k].name,
                              net_attacks[k].help);
    snprintf(text + n, sizeof text - n, "Options:\n");
    return text;
}

NET_FN const net_attack *agent_find_attack(const char *name) {
    for (int k = 0; k < NET_ATTACKS; k++)
        if (strcmp(net_attacks[k].name, name) == 0) return &net_attacks[k];
    options_refuse(name, "no such attack");
    return NULL;
}

NET_FN void agent_open_wire(agent *a) {
    const size_t most = rn_message_size(a->run.recipe.policy.dim);
    wire_connect(&a->wire, a->address, most, a->plain ? NULL : &a->key, a->server_key,
                 (unsigned)a->index);
    a->opened = net_now();
}

NET_FN void agent_open_keys(agent *a, const option *o) {
    char path[512], name[32];
    a->plain = o[AG_PLAIN].number != 0;
    if (a->plain) return;
    snprintf(name, sizeof name, "agent%d.secret", (int)a->index);
    a->key = keys_load_pair(keys_path(&o[AG_KEY], &o[AG_KEYS], name, path));
    keys_load_open(keys_path(&o[AG_SERVER_KEY], &o[AG_KEYS], "server.public", path), a->server_key);
}

NET_FN void agent_open_peer(agent *a, int half) {
    rn_peer_desc d = run_peer_desc(&a->run, &a->place, a->index);
    d.half = half;
    d.agent.random_action = a->attack->random_action;
    d.agent.flip_reward = a->attack->flip_reward;
    d.alter = a->attack->has_vector ? agent_alter : NULL;
    d.alter_self = a;
    const size_t size = rn_peer_size(&d);
    void *memory = malloc(size + 1);
    const rn_status s = memory ? rn_peer_init(&a->peer, &d, memory, size) : RN_ERR_MEMORY;
    if (s != RN_OK) agent_fail(a, rn_status_text(s));
}

NET_FN void agent_open_files(agent *a, const option *o) {
    a->state = o[AG_STATE].text;
    if (a->state) run_hold(a->state);
    if (a->attack->misdeed == REPLAYS) {
        if (!o[AG_OF].text) options_refuse("--of", "whose messages?");
        a->stolen = file_read(o[AG_OF].text, (size_t)1 << 30, &a->stolen_size);
        if (!a->stolen) run_refuse(o[AG_OF].text, strerror(errno));
    }
    if (o[AG_RECORD].text && !(a->record = fopen(o[AG_RECORD].text, "wb")))
        run_refuse(o[AG_RECORD].text, strerror(errno));
}

NET_FN int agent_main(int argc, char **argv) {
    static agent a;
    option *o = agent_options;
    options_read(argc, argv, o, AG_OPTIONS, agent_usage());
    if (o[AG_INDEX].number >= KEYS_MOST) options_refuse("--index", "which agent is it?");
    a.index = o[AG_INDEX].number;
    a.attack = agent_find_attack(o[AG_ATTACK].text);
    a.random = rn_make_random(666 + o[AG_SEED].number, (uint32_t)a.index);
    a.rng = rn_random_rng(&a.random);
    a.quiet = o[AG_QUIET].number != 0;
    a.patience = 1000 * o[AG_PATIENCE].number;
    run_copy(a.run.task_name, sizeof a.run.task_name, o[AG_TASK].text, "--task");
    run_copy(a.run.name, sizeof a.run.name, o[AG_RUN].text, "--run");
    snprintf(a.run.rule, sizeof a.run.rule, "CWTM"); /* the server's business, like n and f */
    a.run.agents = 1;
    a.run.seed = o[AG_SEED].number;
    run_open(&a.run);
    agent_open_keys(&a, o);
    agent_open_peer(&a, o[AG_HALF].number != 0);
    agent_open_files(&a, o);
    agent_load(&a);
    a.address = o[AG_CONNECT].text;
    a.reopen = 1000 + 2 * run_retry(&a.run);
    agent_open_wire(&a);
    server_watch_signals();
    a.link = WIRE_WAITING;
    return agent_run(&a);
}
#endif /* AGENT_H */
