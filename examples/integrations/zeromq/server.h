/* server.h - the server's program: a hub, a socket, a file for the state, a journal, and what a
   human wants to see. */
#ifndef SERVER_H
#define SERVER_H
#include "journal.h"
#include "wire.h"
#include <signal.h>
#include <time.h>

/* What a peer may send: so many messages at once, so many a second, and so many for each round.
   What is more is thrown away unread. */
enum { PEER_BURST = 64, PEER_A_SECOND = 20, PEER_A_ROUND = 4 };

/* said to agents when the last round is done; not a message of the protocol */
static const char farewell[] = "the run is over";

typedef struct server_peer {
    wire_route route;  /* where its last message came from */
    double allowance;  /* messages that it may still send */
    uint64_t ignored;  /* those beyond */
    uint64_t arrivals; /* how often messages began to come over another connection */
    int joined;
} server_peer;

typedef struct server {
    run run;
    rn_hub *hub;
    wire wire;
    journal journal;
    server_peer *peer; /* run.agents */
    const char *state; /* path, or NULL */
    size_t every;      /* rounds between states */
    int terminal, quiet, ticked;
    int unsaved; /* the last state could not be written */
    uint64_t accepted, refilled, shown,
        strangers; /* strangers: without a number, or one too high */
    size_t took;   /* messages since the last tick */
    double score;
    size_t scored; /* in which round */
    rn_progress progress;
} server;

static volatile sig_atomic_t stopped;

static void server_stop(int signal_number) {
    (void)signal_number;
    stopped = 1;
}

/* Not signal(): as C99 has it, a second signal would find no handler any more, and end the program
   while it saves because of the first. */
NET_FN void server_watch_signals(void) {
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = server_stop;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

/* milliseconds */
NET_FN uint64_t net_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

NET_FN size_t server_round(const server *s) {
    return rn_server_current_round(rn_hub_server(s->hub));
}

/* ---- the state: a line with the settings, then the hub's */
static const char state_tag[] = "federation state 1 ";

NET_FN void server_state_head(const run *r, char *text, size_t size) {
    char about[256];
    run_write(r, about, sizeof about);
    snprintf(text, size, "%s%s\n", state_tag, about);
}

NET_FN int server_write_state(const server *s) {
    const size_t inner = rn_hub_save_size(s->hub);
    char head[320];
    server_state_head(&s->run, head, sizeof head);
    const size_t before = strlen(head);
    unsigned char *bytes = (unsigned char *)malloc(before + inner);
    int bad = !bytes || rn_hub_save(s->hub, bytes + before, inner) != RN_OK;
    if (!bad) memcpy(bytes, head, before);
    if (!bad) bad = file_write_beside(s->state, bytes, before + inner, 1) != 0;
    free(bytes);
    return bad ? -1 : 0;
}

/* must 0: a disk may be full for a while, and strangers who only connect can use up all
   descriptors. Neither may end a run: it goes on, and tries again after the next round. The journal
   is told only of states that are about to take the old one's place. */
NET_FN void server_save(server *s, int must) {
    if (!s->state) return;
    int bad = server_write_state(s);
    if (!bad) {
        journal_state(&s->journal, 'C', s->hub, &s->run);
        if (journal_sync(&s->journal) != 0) run_refuse("the journal", strerror(errno));
        bad = file_put_in_place(s->state, 1);
    }
    if (bad && must) run_refuse(s->state, strerror(errno));
    if (bad && !s->unsaved)
        fprintf(stderr, "%s: %s; goes on without, and tries again after every round\n", s->state,
                strerror(errno));
    s->unsaved = bad != 0;
}

/* Other numbers than the state's: refused where they would make another run of it, else told. */
NET_FN void server_compare_number(const server *s, const char *key, int fixed, uint64_t was,
                                  uint64_t now) {
    char text[160];
    if (was == now) return;
    snprintf(text, sizeof text, "made with %s %llu, not %llu", key, (unsigned long long)was,
             (unsigned long long)now);
    if (fixed) run_refuse(s->state, text);
    printf("%s: %s; goes on with %llu\n", s->state, text, (unsigned long long)now);
}

NET_FN void server_compare_text(const server *s, const char *key, const char *was,
                                const char *now) {
    char text[160];
    snprintf(text, sizeof text, "made with %s %s, not %s", key, was, now);
    if (strcmp(was, now) != 0) run_refuse(s->state, text);
}

NET_FN void server_compare(const server *s, const run *was) {
    const run *r = &s->run;
    server_compare_text(s, "--task", was->task_name, r->task_name);
    server_compare_text(s, "--rule", was->rule, r->rule);
    server_compare_text(s, "--run", was->name, r->name);
    server_compare_number(s, "--agents", 1, was->agents, r->agents);
    server_compare_number(s, "--f", 1, was->f, r->f);
    server_compare_number(s, "--seed", 1, was->seed, r->seed);
    server_compare_number(s, "--rounds", 0, was->rounds, r->rounds);
    server_compare_number(s, "--patience", 0, was->patience, r->patience);
    server_compare_number(s, "--quorum", 0, was->quorum, r->quorum);
    server_compare_number(s, "--stale", 0, was->stale, r->stale);
    server_compare_number(s, "--fresh", 0, was->fresh, r->fresh);
}

NET_FN void server_read_state(server *s, const unsigned char *bytes, size_t size) {
    const size_t tag = sizeof state_tag - 1;
    const char *text = (const char *)bytes; /* file_read() has put a 0 at its end */
    const unsigned char *end = (const unsigned char *)memchr(bytes, '\n', size);
    static run was;
    if (!end || strncmp(text, state_tag, tag) != 0 || !run_read(&was, text + tag))
        run_refuse(s->state, "not the state of a server");
    server_compare(s, &was);
    const rn_status status = rn_hub_load(s->hub, end + 1, size - (size_t)(end + 1 - bytes));
    if (status != RN_OK) run_refuse(s->state, rn_status_text(status));
    printf("goes on with round %d, from %s\n", (int)server_round(s), s->state);
}

/* no state: a new run */
NET_FN void server_load(server *s) {
    size_t size = 0;
    if (s->state) run_hold(s->state);
    unsigned char *bytes = s->state ? file_read(s->state, FILE_MOST, &size) : NULL;
    if (s->state && !bytes && errno != ENOENT) run_refuse(s->state, strerror(errno));
    if (bytes) server_read_state(s, bytes, size);
    free(bytes);
}

NET_FN void server_open_journal(server *s, const char *path) {
    if (!path) return;
    journal_open(&s->journal, path, &s->run, server_round(s));
    if (s->journal.old) journal_state(&s->journal, 'L', s->hub, &s->run);
}

/* ---- what a human wants to see */
NET_FN uint64_t server_refused(const rn_peer_report *p) {
    uint64_t n = 0;
    for (int k = RN_ACCEPTED + 1; k < RN_REASON_COUNT; k++) n += p->messages[k];
    return n;
}

/* the commonest reason, "" if nothing was refused */
NET_FN const char *server_reason(const rn_peer_report *p) {
    int most = RN_ACCEPTED + 1;
    for (int k = most; k < RN_REASON_COUNT; k++)
        if (p->messages[k] > p->messages[most]) most = k;
    return p->messages[most] ? rn_reason_text((rn_reason)most) : "";
}

NET_FN void server_print_peer(const server *s, size_t i, uint64_t now) {
    const rn_peer_report *p = rn_hub_report(s->hub, i);
    char seen[16] = "never", age[16] = "none";
    if (p->messages[RN_ACCEPTED])
        snprintf(seen, sizeof seen, "%.1f s ago", 1e-3 * (double)(now - p->last_seen));
    if (p->age <= 254) snprintf(age, sizeof age, "%d", (int)p->age);
    printf("%5d  %-6s %7llu %6llu %6llu %8llu %8llu %6llu  %5s %6.2f %9.2f  %-11s %s\n", (int)i,
           p->joined ? "yes" : "no", (unsigned long long)p->rows, (unsigned long long)p->late,
           (unsigned long long)p->stale, (unsigned long long)server_refused(p),
           (unsigned long long)s->peer[i].ignored, (unsigned long long)s->peer[i].arrivals, age,
           p->weight, p->suspicion < 1e6 ? p->suspicion : 1e6, seen, server_reason(p));
}

NET_FN void server_print_peers(const server *s, uint64_t now) {
    printf("agent  joined    rows   late  stale  refused  ignored  links    age weight suspicion  "
           "seen        refused mostly because\n");
    for (size_t i = 0; i < s->run.agents; i++) server_print_peer(s, i, now);
}

NET_FN void server_print_round(const server *s) {
    size_t joined = 0;
    for (size_t i = 0; i < s->run.agents; i++) joined += rn_hub_report(s->hub, i)->joined != 0;
    printf("%d rounds of %d done: return %.1f, ||d|| %.3g, step %.3g%s; now %d agents joined, %d "
           "rows in, %d needed\n",
           (int)server_round(s) - 1, (int)s->run.rounds, s->score, s->progress.norm,
           s->progress.gamma, s->progress.status == RN_OK ? "" : ", no update", (int)joined,
           (int)rn_hub_rows_in(s->hub), (int)rn_hub_quorum(s->hub));
}

/* A table that stays in its place if somebody watches, lines for a log if not. */
NET_FN void server_show(server *s, uint64_t now, int end) {
    const uint64_t pause = s->terminal ? 300 : 5000;
    if (s->quiet || (!end && now - s->shown < pause)) return;
    if (s->scored != server_round(s)) {
        s->score = run_evaluate(&s->run, rn_server_theta(rn_hub_server(s->hub)), 5);
        s->scored = server_round(s);
    }
    const int table = s->terminal && s->run.agents <= 40;
    if (table && s->shown) printf("\033[%dA\033[J", (int)s->run.agents + 2);
    if (table) printf("\033[?7l"); /* long lines are cut, not wrapped: the table keeps its height */
    server_print_round(s);
    if (end || table) server_print_peers(s, now);
    if (table) printf("\033[?7h");
    fflush(stdout);
    s->shown = now;
}

/* ---- messages */
NET_FN void server_refill(server *s, uint64_t now) {
    const double more = 1e-3 * (double)(now - s->refilled) * PEER_A_SECOND;
    for (size_t i = 0; i < s->run.agents; i++) {
        double *a = &s->peer[i].allowance;
        *a = *a + more < PEER_BURST ? *a + more : PEER_BURST;
    }
    s->refilled = now;
}

NET_FN void server_note(server *s, size_t i) {
    const int joined = rn_hub_report(s->hub, i)->joined;
    if (joined != s->peer[i].joined && !s->quiet && !s->terminal)
        printf("agent %d %s in round %d\n", (int)i, joined ? "joined" : "left",
               (int)server_round(s));
    s->peer[i].joined = joined;
}

/* A message came over another connection than the last one. A log has a line for 2, 4, 8, .. of
   them: a program that came back makes a few, two that take turns with one key more and more. */
NET_FN void server_reroute(server *s, size_t i, const wire_route *from) {
    server_peer *p = &s->peer[i];
    p->route = *from;
    p->arrivals++;
    if (p->arrivals < 2 || (p->arrivals & (p->arrivals - 1)) || s->quiet || s->terminal) return;
    printf("agent %d came over %llu connections so far: one program, or several?\n", (int)i,
           (unsigned long long)p->arrivals);
}

NET_FN void server_take(server *s, const wire_route *from, zmq_msg_t *body) {
    const int who = wire_sender(&s->wire, body, from);
    const size_t i = (size_t)who;
    if (who < 0 || i >= s->run.agents) {
        s->strangers++;
        return;
    }
    server_peer *p = &s->peer[i];
    if (p->allowance < 1) {
        p->ignored++;
        return;
    }
    p->allowance -= 1;
    if (p->route.size != from->size || memcmp(p->route.id, from->id, from->size) != 0)
        server_reroute(s, i, from);
    if (rn_hub_receive(s->hub, i, zmq_msg_data(body), zmq_msg_size(body)) == RN_ACCEPTED) {
        journal_message(&s->journal, i, zmq_msg_data(body), zmq_msg_size(body));
        s->took++;
        server_note(s, i);
    }
}

/* Bounded, so that the clock is looked at whatever comes. */
NET_FN void server_listen(server *s) {
    zmq_pollitem_t items[2] = {{s->wire.socket, 0, ZMQ_POLLIN, 0}, {s->wire.zap, 0, ZMQ_POLLIN, 0}};
    wire_route from;
    zmq_msg_t body;
    (void)zmq_poll(items, s->wire.zap ? 2 : 1, 20);
    if (items[1].revents & ZMQ_POLLIN) wire_answer_zap(&s->wire);
    for (size_t k = 0; k < 4 * s->run.agents + 16; k++) {
        if (!wire_take(s->wire.socket, &from, &body)) break;
        server_take(s, &from, &body);
        zmq_msg_close(&body);
    }
}

NET_FN void server_send(server *s) {
    rn_letter m;
    while (rn_hub_next(s->hub, &m))
        wire_give(s->wire.socket, &s->peer[m.to].route, m.bytes, m.size);
}

NET_FN void server_end_round(server *s, rn_status status) {
    journal_update(&s->journal, s->hub, &s->run, status);
    if (journal_flush(&s->journal) != 0) run_refuse("the journal", strerror(errno));
    for (size_t i = 0; i < s->run.agents; i++) s->peer[i].allowance += PEER_A_ROUND;
    if (s->unsaved || (s->every && (server_round(s) - 1) % s->every == 0)) server_save(s, 0);
}

/* Several rounds cannot be due at once: the next one needs rows that nobody has sent. */
NET_FN void server_tick(server *s, uint64_t now) {
    const rn_status status = rn_hub_tick(s->hub, now, &s->progress);
    if (status != RN_MORE || s->took || !s->ticked) journal_tick(&s->journal, now);
    s->ticked = 1;
    s->took = 0;
    if (status != RN_MORE) server_end_round(s, status);
}

/* whoever speaks within a second after the end is told */
NET_FN void server_part(server *s) {
    const uint64_t until = net_now() + 1000;
    wire_route from;
    zmq_msg_t body;
    for (size_t i = 0; i < s->run.agents; i++)
        wire_give(s->wire.socket, &s->peer[i].route, farewell, sizeof farewell);
    while (net_now() < until) {
        zmq_pollitem_t items[2] = {{s->wire.socket, 0, ZMQ_POLLIN, 0},
                                   {s->wire.zap, 0, ZMQ_POLLIN, 0}};
        (void)zmq_poll(items, s->wire.zap ? 2 : 1, 50);
        if (items[1].revents & ZMQ_POLLIN) wire_answer_zap(&s->wire);
        if (!wire_take(s->wire.socket, &from, &body)) continue;
        wire_give(s->wire.socket, &from, farewell, sizeof farewell);
        zmq_msg_close(&body);
    }
}

NET_FN int server_run(server *s) {
    s->refilled = net_now();
    server_tick(s, s->refilled); /* the hub learns what time it is before anybody speaks */
    while (!stopped && server_round(s) <= s->run.rounds) {
        server_listen(s);
        const uint64_t now = net_now();
        server_refill(s, now);
        server_tick(s, now);
        server_send(s);
        server_show(s, now, 0);
    }
    server_save(s, 1);
    server_show(s, net_now(), 1);
    if (journal_flush(&s->journal) != 0) run_refuse("the journal", strerror(errno));
    const int done = server_round(s) > s->run.rounds;
    const double score = run_evaluate(&s->run, rn_server_theta(rn_hub_server(s->hub)), 20);
    printf("%s after %d rounds: return %.1f, %g counts as learned; strangers %llu, keys refused "
           "%d\n",
           done ? "done" : "stopped", (int)server_round(s) - 1, score, s->run.task->good,
           (unsigned long long)s->strangers, (int)s->wire.refused_keys);
    fflush(stdout);
    if (done) server_part(s);
    wire_close(&s->wire);
    if (s->journal.file) fclose(s->journal.file);
    return done && score < s->run.task->good ? 3 : 0;
}

/* ---- the command line */
/* clang-format off */
enum {
    SV_TASK, SV_AGENTS, SV_F, SV_ROUNDS, SV_SEED, SV_RULE, SV_RUN, SV_PATIENCE, SV_QUORUM,
    SV_STALE, SV_FRESH, SV_BIND, SV_KEYS, SV_KEY, SV_ALLOW, SV_PLAIN, SV_STATE, SV_EVERY,
    SV_JOURNAL, SV_QUIET, SV_LAST, SV_OPTIONS
};
/* clang-format on */

static option server_options[SV_OPTIONS] = {
    {"--task", "one of the six environments (CartPole)", "CartPole", 0, 0, 0},
    {"--agents", "how many there are (10)", NULL, 10, 1, KEYS_MOST},
    {"--f", "adversaries to survive (3)", NULL, 3, 0, KEYS_MOST},
    {"--rounds", "then it ends (the task's own)", NULL, 0, 1, 1000000},
    {"--seed", "the same as the agents' (1)", NULL, 1, 0, 1000000000},
    {"--rule", "CWTM, MDA, CAF, .. (CWTM)", "CWTM", 0, 0, 0},
    {"--run", "its name, the same as the agents'; no blanks (run)", "run", 0, 0, 0},
    {"--patience", "ms that a round waits for the late; 0: for ever (0)", NULL, 0, 0, 100000000},
    {"--quorum", "fresh rows that a round needs (2f+1)", NULL, 0, 0, KEYS_MOST},
    {"--stale", "rounds that the last row of a late agent may be old (0)", NULL, 0, 0, 254},
    {"--fresh", "with --stale: rows of the quorum that must not be (all)", NULL, 0, 0, KEYS_MOST},
    {"--bind", "where to listen (tcp://*:5555)", "tcp://*:5555", 0, 0, 0},
    {"--keys", "directory of `federation keys`: server.secret and allowed", NULL, 0, 0, 0},
    {"--key", "the server's secret key file", NULL, 0, 0, 0},
    {"--allow", "file with a line `number public-key` for each agent", NULL, 0, 0, 0},
    {"--plain", "no keys, no encryption: anybody is who he says", NULL, 0, OPTION_FLAG, 0},
    {"--state", "file that the state is kept in; it goes on from there", NULL, 0, 0, 0},
    {"--every", "rounds between states (10)", NULL, 10, 1, 1000000},
    {"--journal", "file for what was taken, for `federation replay`", NULL, 0, 0, 0},
    {"--quiet", "only the last line", NULL, 0, OPTION_FLAG, 0},
    {"", "", NULL, 0, 0, 0}};

NET_FN void run_copy(char *to, size_t size, const char *text, const char *key) {
    if (strlen(text) >= size || !*text || strpbrk(text, " \t\n\v\f\r"))
        options_refuse(key, "too long, or with blanks");
    snprintf(to, size, "%s", text);
}

NET_FN void server_settings(run *r, const option *o) {
    run_copy(r->task_name, sizeof r->task_name, o[SV_TASK].text, "--task");
    run_copy(r->rule, sizeof r->rule, o[SV_RULE].text, "--rule");
    run_copy(r->name, sizeof r->name, o[SV_RUN].text, "--run");
    r->agents = o[SV_AGENTS].number;
    r->f = o[SV_F].number;
    r->rounds = o[SV_ROUNDS].number;
    r->seed = o[SV_SEED].number;
    r->patience = o[SV_PATIENCE].number;
    r->quorum = o[SV_QUORUM].number;
    r->stale = o[SV_STALE].number;
    r->fresh = o[SV_FRESH].number;
    if (2 * r->f >= r->agents)
        options_refuse("--f", "less than half of the agents can be survived");
    run_open(r);
}

/* FILE if it is given, else DIRECTORY/NAME; ends the program if neither is */
NET_FN const char *keys_path(const option *file, const option *directory, const char *name,
                             char path[512]) {
    if (!file->text && !directory->text)
        options_refuse(file->key, "no key: give it, or --keys, or say --plain");
    if (file->text) return file->text;
    snprintf(path, 512, "%s/%s", directory->text, name);
    return path;
}

NET_FN void server_open_wire(server *s, const option *o) {
    const size_t most = rn_message_size(s->run.recipe.policy.dim);
    char path[512];
    if (o[SV_PLAIN].number) {
        printf("without keys: anybody who can reach %s can be any agent\n", o[SV_BIND].text);
        wire_serve(&s->wire, o[SV_BIND].text, most, NULL, NULL);
        return;
    }
    const key_pair key = keys_load_pair(keys_path(&o[SV_KEY], &o[SV_KEYS], "server.secret", path));
    const char *list = keys_path(&o[SV_ALLOW], &o[SV_KEYS], "allowed", path);
    const key_list allowed = keys_load_list(list, s->run.agents);
    const size_t known = keys_count(&allowed);
    if (known < s->run.agents)
        printf("%s: %d of %d agents have a key\n", list, (int)known, (int)s->run.agents);
    wire_serve(&s->wire, o[SV_BIND].text, most, &key, &allowed);
}

NET_FN int server_main(int argc, char **argv) {
    static server s;
    option *o = server_options;
    options_read(
        argc, argv, o, SV_OPTIONS,
        "usage: federation server [options]\n"
        "Waits for agents and trains with them. Status 0: learned, 3: not, 1: an error.\n");
    server_settings(&s.run, o);
    s.state = o[SV_STATE].text;
    s.every = o[SV_EVERY].number;
    s.quiet = o[SV_QUIET].number != 0;
    s.terminal = isatty(1);
    s.peer = (server_peer *)calloc(s.run.agents, sizeof *s.peer);
    if (!s.peer) run_refuse("the server", "no memory");
    for (size_t i = 0; i < s.run.agents; i++) s.peer[i].allowance = PEER_BURST;
    s.hub = run_hub(&s.run);
    server_open_wire(&s, o);
    server_load(&s);
    server_open_journal(&s, o[SV_JOURNAL].text);
    server_save(&s, 1); /* a path that cannot be written to is told now, not after ten rounds */
    server_watch_signals();
    printf("listens at %s: %s, %d agents, survives %d, %d rounds, a quorum is %d\n",
           o[SV_BIND].text, s.run.task->name, (int)s.run.agents, (int)s.run.f, (int)s.run.rounds,
           (int)rn_hub_quorum(s.hub));
    fflush(stdout);
    return server_run(&s);
}
#endif /* SERVER_H */
