/* A federation under everything that can go wrong: ten agents and a server as processes on this
   machine, over a bad network (relay.h). Agents are killed, stopped and go on, with and without
   their state; the server is killed twice; one agent floods, one sends garbage, one repeats what
   another said, one has a key that nobody knows. In the end the policy is learned, the server's
   journal replayed in one process has the same bits, and nobody died who was not killed.
   Before that, without any of it: theta has the bits of rn_trainer after every round; every mistake
   at the command line is answered by its own words; and strangers who take all connections that the
   server can have do not end it.

   usage: chaos PROGRAM DIRECTORY [seed]       make federation runs it
   All it starts it ends, by number, also when it fails; no longer than LIMIT seconds. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#define _POSIX_C_SOURCE 200809L
#include "relay.h"
#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { AGENTS = 10, ROUNDS = 200, LIMIT = 900 };
enum { MEMORY_KB = 32 * 1024 }; /* of the server, which has 7 MB when nothing happens */
enum { FLOODER = 7, GARBLER = 8, REPEATER = 9, HONEST = 7 };
enum { SERVER = AGENTS, STRANGER, RELAY, PROCESSES };

typedef struct process {
    pid_t pid; /* 0: not running */
    long wake; /* ms when it is continued, or started again; 0: neither */
    int stopped;
} process;

static struct {
    process p[PROCESSES];
    const char *program, *directory;
    int server_port, relay_port;
    uint64_t seed;
    relay_counts *network;
    long journal_at; /* what was read of bad.journal, ... */
    unsigned rounds; /* ... and the rounds that it told of */
    unsigned harmed; /* the round of the last harm */
    unsigned kills, stops, fresh, server_kills, server_starts, mistakes;
    long server_kb;     /* most memory of the server */
    rlim_t descriptors; /* that what is started may have; 0: as many as there are */
} t;

/* ---- processes */
static void end_all(void) {
    for (int k = 0; k < PROCESSES; k++)
        if (t.p[k].pid > 0) {
            kill(t.p[k].pid, SIGKILL);
            waitpid(t.p[k].pid, NULL, 0);
            t.p[k].pid = 0;
        }
}

static void fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("FAILED: ");
    vprintf(format, args);
    printf(" (logs are in %s)\n", t.directory);
    va_end(args);
    fflush(stdout);
    end_all();
    _exit(1);
}

static void too_long(int number) {
    (void)number;
    end_all();
    (void)!write(1, "FAILED: it takes too long, or was stopped\n", 42);
    _exit(1);
}

/* in the directory, its output added to LOG */
static pid_t start(const char *log, char *const *argv) {
    fflush(stdout);
    const pid_t pid = fork();
    if (pid < 0) fail("fork: %s", strerror(errno));
    if (pid > 0) return pid;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* should this program be killed, so are they */
#endif
    const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0) _exit(126);
    const struct rlimit few = {t.descriptors, t.descriptors};
    if (t.descriptors && setrlimit(RLIMIT_NOFILE, &few) != 0) _exit(126);
    execv(argv[0], argv);
    _exit(127);
}

/* words of one string, separated by blanks, after the program */
static pid_t start_words(const char *log, char *words) {
    char *argv[64];
    int n = 0;
    argv[n++] = (char *)(uintptr_t)t.program;
    for (char *w = strtok(words, " "); w && n < 63; w = strtok(NULL, " ")) argv[n++] = w;
    argv[n] = NULL;
    return start(log, argv);
}

/* status, or 128 + signal */
static int wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) fail("waitpid: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void pause_ms(long ms) {
    struct timespec d;
    d.tv_sec = ms / 1000;
    d.tv_nsec = ms % 1000 * 1000000;
    nanosleep(&d, NULL);
}

/* does the file hold the text? */
static int says(const char *path, const char *text) {
    static char bytes[1 << 16];
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(bytes, 1, sizeof bytes - 1, f) : 0;
    if (f) fclose(f);
    bytes[n] = 0;
    return strstr(bytes, text) != NULL;
}

static void wait_until_says(const char *path, const char *text) {
    while (!says(path, text)) pause_ms(20);
}

/* a number of agent i in the table at the end of a server's log: 0 rows, 5 links; -1: there is
   none */
static long column_of(const char *path, int i, int column) {
    char line[512], joined[8];
    long found = -1, n[6];
    int index;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%d %7s %ld %ld %ld %ld %ld %ld", &index, joined, &n[0], &n[1], &n[2],
                   &n[3], &n[4], &n[5]) == 8 &&
            index == i && (strcmp(joined, "yes") == 0 || strcmp(joined, "no") == 0))
            found = n[column];
    if (f) fclose(f);
    return found;
}

static long rows_of(int i) { return column_of("bad.log", i, 0); }

/* ---- the federation's processes */
static void start_server(int port, const char *name, int rounds, const char *more) {
    char words[512], log[64];
    snprintf(log, sizeof log, "%s.log", name);
    snprintf(words, sizeof words,
             "server --keys keys --bind tcp://127.0.0.1:%d --rounds %d --state %s.state --journal "
             "%s.journal %s",
             port, rounds, name, name, more);
    t.p[SERVER].pid = start_words(log, words);
    t.p[SERVER].wake = 0;
    t.server_starts++;
}

static void start_agent(int i, int port, const char *more) {
    char words[512], log[64];
    snprintf(log, sizeof log, "agent%d.log", i);
    snprintf(words, sizeof words, "agent --index %d --keys keys --connect tcp://127.0.0.1:%d %s", i,
             port, more);
    t.p[i].pid = start_words(log, words);
    t.p[i].wake = 0;
    t.p[i].stopped = 0;
}

/* what agent i is in the bad hours */
static void start_agent_again(int i) {
    char more[128];
    snprintf(more, sizeof more, "--state agent%d.state %s", i,
             i == FLOODER    ? "--attack flood"
             : i == GARBLER  ? "--attack garbage"
             : i == REPEATER ? "--attack replay --of stolen"
                             : "");
    start_agent(i, t.relay_port, more);
}

/* ---- first: nobody fails, and the bits are rn_trainer's */
static void quiet_hours(void) {
    char words[] = "replay --trainer quiet.journal";
    start_server(t.server_port, "quiet", 40, "");
    for (int i = 0; i < AGENTS; i++) start_agent(i, t.server_port, i == 0 ? "--record stolen" : "");
    const int status = wait_for(t.p[SERVER].pid);
    t.p[SERVER].pid = 0;
    if (status != 0 && status != 3) fail("the server ended with %d", status);
    for (int i = 0; i < AGENTS; i++) {
        const int s = wait_for(t.p[i].pid); /* they were told that it is over */
        t.p[i].pid = 0;
        if (s != 0) fail("agent %d ended with %d", i, s);
    }
    if (wait_for(start_words("replay.log", words)) != 0) fail("the replay has other bits");
    printf("nobody fails: 40 rounds over CURVE, theta has rn_trainer's bits after every one\n");
}

/* ---- then: mistakes, and their words */

/* does it end so, and say that? */
static int ends_so(const char *command, int status, const char *text, int *got) {
    char words[512];
    snprintf(words, sizeof words, "%s", command);
    unlink("mistake.log");
    *got = wait_for(start_words("mistake.log", words));
    return *got == status && says("mistake.log", text);
}

static void expect(const char *command, int status, const char *text) {
    int got;
    if (!ends_so(command, status, text, &got))
        fail("`%s` ended with %d, not %d, or without `%s`", command, got, status, text);
    t.mistakes++;
}

/* an agent that gives up after some seconds: more of them where a busy machine needs more */
static void expect_at_last(const char *command, const char *text) {
    char words[512];
    int got;
    for (int patience = 3; patience < 100; patience *= 5) {
        snprintf(words, sizeof words, "%s --patience %d", command, patience);
        if (!ends_so(words, 1, text, &got)) continue;
        t.mistakes++;
        return;
    }
    fail("`%s` ended with %d, not 1, or without `%s`", words, got, text);
}

/* Asked again and again, as an impatient hand does, it ends as if it were asked once. */
static void stop_server(void) {
    int status = 0;
    do {
        kill(t.p[SERVER].pid, SIGTERM);
        pause_ms(1);
    } while (waitpid(t.p[SERVER].pid, &status, WNOHANG) == 0);
    t.p[SERVER].pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail("a server that is asked to stop");
}

/* FNV-1a of a file's bytes and of its number, which changes when the file is replaced */
static uint64_t hash_of(const char *path) {
    uint64_t h = 0xcbf29ce484222325u;
    struct stat about;
    FILE *f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &about) != 0) fail("%s: %s", path, strerror(errno));
    for (int c = getc(f); c != EOF; c = getc(f)) h = (h ^ (uint64_t)c) * 0x100000001b3u;
    fclose(f);
    return h ^ (uint64_t)about.st_ino;
}

/* first by a copy of the list in which agent 1 has the key of agent 0 */
static void server_mistakes(void) {
    static const char *const rows[][2] = {
        {"--keys keys --allow twice", "line 2: another agent has this key"},
        {"--keys keys --agents 11 --state quiet.state", "allowed: 10 of 11 agents have a key"},
        {"--plain --state quiet.state --f 2", "made with --f 3, not 2"},
        {"--plain --state quiet.state --rule MDA", "made with --rule CWTM, not MDA"},
        {"--plain --state quiet.state --seed 2", "made with --seed 1, not 2"},
        {"--plain --state quiet.state --task Hopper", "made with --task CartPole, not Hopper"},
        {"--plain --state quiet.state --run other", "made with --run run, not other"},
        {"--plain --state quiet.state --agents 9", "made with --agents 10, not 9"},
        {"--plain --state keys/allowed", "not the state of a server"},
        {"--plain --state quiet.state --patience 9 --journal second.journal",
         "made with --patience 0, not 9; goes on with 9"},
        {"--plain --state quiet.state --journal second.journal", "a journal begins with its run"},
        {"--plain --state nowhere/state", "No such file"},
        {"--plain --agents 9 --f 3 --rule Bulyan", "Bulyan survives at most"}};
    const uint64_t before = hash_of("quiet.state");
    char words[512], first[128] = "";
    FILE *in = fopen("keys/allowed", "r"), *out = fopen("twice", "w");
    if (!in || !out || !fgets(first, sizeof first, in) || fputs(first, out) < 0) fail("twice");
    first[0] = '1';
    if (fputs(first, out) < 0 || fclose(out) != 0 || fclose(in) != 0) fail("twice");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        snprintf(words, sizeof words, "server --bind tcp://127.0.0.1:* --rounds 40 %s", rows[k][0]);
        expect(words, 1, rows[k][1]);
    }
    if (hash_of("quiet.state") != before) fail("a state was changed by who was refused");
}

/* one more mistake: an agent is started twice, without keys */
static void plain_twins(void) {
    char words[256];
    snprintf(words, sizeof words, "server --plain --bind tcp://127.0.0.1:%d", t.server_port);
    t.p[SERVER].pid = start_words("plain.log", words);
    for (int k = 0; k < 2; k++) {
        snprintf(words, sizeof words, "agent --plain --index 0 --connect tcp://127.0.0.1:%d",
                 t.server_port);
        t.p[k].pid = start_words("twins.log", words);
    }
    wait_until_says("plain.log", "agent 0 came over 2 connections");
    stop_server();
    end_all();
    t.mistakes++;
}

/* An agent is given a key for its state: it gives up, and the key is still there. */
static void foreign_state(const char *agent) {
    char words[512];
    unlink("strange.secret.unused");
    snprintf(words, sizeof words, "%s --keys keys --run other --state strange.secret", agent);
    expect(words, 1, "and that is now strange.secret.unused");
    if (!says("strange.secret.unused", "secret ")) fail("an agent has lost a key");
    if (rename("strange.secret.unused", "strange.secret") != 0) fail("rename");
}

/* The journal of the quiet hours, which ends with an update and two states, and that update once
   more. */
static void forge_update(void) {
    enum { UPDATE = 5 + 24 + AGENTS, STATE = 5 + 16 };
    static unsigned char bytes[1 << 22];
    FILE *in = fopen("quiet.journal", "rb"), *out = fopen("twice.journal", "wb");
    const size_t n = in ? fread(bytes, 1, sizeof bytes, in) : 0;
    if (!out || n < UPDATE + 2 * STATE) fail("quiet.journal");
    const unsigned char *last = bytes + n - 2 * STATE - UPDATE;
    if (*last != 'U') fail("quiet.journal has another end");
    if (fwrite(bytes, 1, n, out) != n || fwrite(last, 1, UPDATE, out) != UPDATE) fail("twice");
    if (fclose(out) != 0 || fclose(in) != 0) fail("twice.journal");
}

static void mistakes(void) {
    static const char *const patient[][2] = {
        {"--key strange.secret --server-key keys/server.public", "not in its list"},
        {"--key keys/agent0.secret --server-key keys/agent1.public", "handshake"},
        {"--plain", "handshake"}};
    static const char *const rows[][2] = {
        {"--keys keys --connect tcp://127.0.0.1:1 --patience 1", "no answer"},
        {"--key keys/agent1.secret --server-key keys/server.public", "in another's name"},
        {"--keys keys --task Hopper", "of another run (--run and --task"},
        {"--keys keys --run other", "of another run (--run and --task"},
        {"--keys keys --state mistaken.state", "another program writes to it"},
        {"--key missing --server-key keys/server.public", "missing: No such file"},
        {"--key keys/server.public --server-key keys/server.public", "others can read"}};
    char words[512], agent[64], make_key[] = "keys strange";
    FILE *bad;
    if (chmod("keys/server.public", 0644) != 0) fail("chmod");
    (void)wait_for(start_words("keys.log", make_key));
    start_server(t.server_port, "mistaken", 40, "--quiet");
    wait_until_says("mistaken.log", "listens at");
    snprintf(agent, sizeof agent, "agent --index 0 --connect tcp://127.0.0.1:%d", t.server_port);
    for (size_t k = 0; k < sizeof patient / sizeof *patient; k++) {
        snprintf(words, sizeof words, "%s %s", agent, patient[k][0]);
        expect_at_last(words, patient[k][1]);
    }
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        snprintf(words, sizeof words, "%s %s", agent, rows[k][0]);
        expect(words, 1, rows[k][1]);
    }
    foreign_state(agent);
    snprintf(words, sizeof words, "server --plain --bind tcp://127.0.0.1:%d", t.server_port);
    expect(words, 1, "Address already in use");
    expect("server --plain --bind tcp://127.0.0.1:* --state mistaken.state", 1,
           "mistaken.state: another program writes to it");
    expect("server --plain --bind tcp://127.0.0.1:* --journal mistaken.journal", 1,
           "mistaken.journal: another program writes to it");
    expect("server --plain --run a\vb", 2, "or with blanks");
    expect("server --bind tcp://127.0.0.1:1", 2, "no key");
    expect("agent --index 0 --attack", 2, "its value is missing");
    expect("agent --index 0 --plain tcp://127.0.0.1:1", 2, "no such option");
    bad = fopen("forged.journal", "w");
    if (!bad || fputs("federation 1 garbage\n", bad) < 0 || fclose(bad) != 0)
        fail("forged.journal");
    expect("replay forged.journal", 1, "not a journal");
    forge_update();
    expect("replay twice.journal", 1, "the server ended the round, the replay does not");
    stop_server();
    server_mistakes();
    plain_twins();
    printf("mistakes: %u, each answered by its own words\n", t.mistakes);
}

/* ---- then: strangers take all connections that the server can have */
enum { FLOOD = 200, DESCRIPTORS = 48, SILENT = AGENTS - 1 };

/* as many connections at a time as there can be; a server hangs up on who says nothing */
static void flood(int *fd) {
    const struct sockaddr_in a = relay_address(t.server_port);
    char byte;
    for (int k = 0; k < FLOOD; k++) {
        if (fd[k] >= 0 && recv(fd[k], &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0) {
            close(fd[k]);
            fd[k] = -1;
        }
        if (fd[k] >= 0) continue;
        fd[k] = socket(AF_INET, SOCK_STREAM, 0);
        if (fd[k] < 0) return;
        fcntl(fd[k], F_SETFL, O_NONBLOCK);
        (void)connect(fd[k], (const struct sockaddr *)&a, sizeof a);
    }
}

/* descriptors that the server has open; without /proc: all */
static int server_descriptors(void) {
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)t.p[SERVER].pid);
    DIR *d = opendir(path);
    if (!d) return DESCRIPTORS;
    while (readdir(d)) count++;
    closedir(d);
    return count - 2; /* . and .. */
}

/* All are connected, one of them twice: another program has the key of agent 0. */
static void gather(void) {
    char words[256], log[32];
    t.descriptors = DESCRIPTORS;
    start_server(t.server_port, "crowd", 60, "--every 1");
    t.descriptors = 0;
    snprintf(words, sizeof words, "agent --index 0 --keys keys --connect tcp://127.0.0.1:%d",
             t.server_port);
    t.p[STRANGER].pid = start_words("twin.log", words);
    wait_until_says("twin.log", "connected");
    for (int i = 0; i < AGENTS; i++) {
        snprintf(log, sizeof log, "agent%d.log", i);
        unlink(log);
        start_agent(i, t.server_port, i == SILENT ? "--attack silence" : "");
        wait_until_says(log, "connected");
    }
}

static void flood_and_look(int *fd) {
    int status = 0;
    flood(fd);
    pause_ms(20);
    if (waitpid(t.p[SERVER].pid, &status, WNOHANG) == 0) return;
    t.p[SERVER].pid = 0;
    fail("the crowded server ended: %s %d", WIFEXITED(status) ? "status" : "signal",
         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* One agent joined and is silent, so that the first round waits until it says goodbye: then no
   descriptor is left to save a state with. */
static void crowded_hours(void) {
    int fd[FLOOD];
    char words[] = "replay crowd.journal";
    for (int k = 0; k < FLOOD; k++) fd[k] = -1;
    gather();
    while (server_descriptors() < DESCRIPTORS - 1) flood_and_look(fd);
    kill(t.p[SILENT].pid, SIGTERM);
    while (!says("crowd.log", "goes on without")) flood_and_look(fd);
    for (int k = 0; k < FLOOD; k++)
        if (fd[k] >= 0) close(fd[k]);
    const int status = wait_for(t.p[SERVER].pid);
    t.p[SERVER].pid = 0;
    end_all();
    if (status != 0 && status != 3) fail("the crowded server ended with %d", status);
    if (!says("crowd.log", "Too many open files; goes on without")) fail("another reason");
    if (column_of("crowd.log", 0, 5) < 2 || column_of("crowd.log", 1, 5) != 1)
        fail("two programs with one key are not in the table");
    if (!says("crowd.log", "agent 0 came over 2 connections")) fail("they are not in the log");
    if (wait_for(start_words("replay.log", words)) != 0) fail("the crowded replay");
    printf("crowded: no descriptor left for a state, and the run goes on\n");
}

/* ---- the bad hours */
static void start_relay(void) {
    const int listener = relay_listen(0);
    struct sockaddr_in a;
    socklen_t size = sizeof a;
    if (listener < 0 || getsockname(listener, (struct sockaddr *)&a, &size) != 0) fail("relay");
    t.relay_port = ntohs(a.sin_port);
    fflush(stdout);
    t.p[RELAY].pid = fork();
    if (t.p[RELAY].pid == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        signal(SIGPIPE, SIG_IGN);
        relay_run(listener, t.server_port, t.seed ^ 77, t.network);
    }
    close(listener);
}

static void look_at_memory(void) {
    char path[64], line[256];
    long kb = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)t.p[SERVER].pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kb) == 1 && kb > t.server_kb) t.server_kb = kb;
    if (f) fclose(f);
}

/* Kills or stops one honest agent, at most two at a time; what sleeps is woken by wake_up(). */
static void harm_an_agent(long now) {
    const int i = (int)relay_draw(&t.seed, HONEST);
    process *p = &t.p[i];
    char path[32];
    int down = 0;
    for (int k = 0; k < HONEST; k++) down += t.p[k].wake != 0;
    if (p->wake || p->pid <= 0 || down >= 2) return;
    p->wake = now + 100 + relay_draw(&t.seed, 900);
    p->stopped = relay_draw(&t.seed, 2) == 0;
    if (kill(p->pid, p->stopped ? SIGSTOP : SIGKILL) != 0) fail("agent %d is not there", i);
    t.stops += p->stopped != 0;
    if (p->stopped) return;
    (void)wait_for(p->pid);
    p->pid = 0;
    t.kills++;
    if (relay_draw(&t.seed, 3) == 0) { /* its disk is lost too */
        snprintf(path, sizeof path, "agent%d.state", i);
        unlink(path);
        t.fresh++;
    }
}

static void wake_up(long now) {
    for (int i = 0; i < HONEST; i++) {
        process *p = &t.p[i];
        if (!p->wake || now < p->wake) continue;
        if (!p->stopped) start_agent_again(i);
        if (p->stopped && p->pid > 0) kill(p->pid, SIGCONT);
        p->wake = 0;
        p->stopped = 0;
    }
}

/* reads on in the server's journal, record by record, and counts the rounds that ended */
static void count_rounds(void) {
    unsigned char head[5];
    char line[320];
    FILE *f = fopen("bad.journal", "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        if (f) fclose(f);
        return;
    }
    const long end = ftell(f);
    rewind(f);
    if (!t.journal_at && fgets(line, sizeof line, f) && strchr(line, '\n')) t.journal_at = ftell(f);
    while (t.journal_at && fseek(f, t.journal_at, SEEK_SET) == 0 && fread(head, 1, 5, f) == 5) {
        const long size = head[1] | head[2] << 8 | head[3] << 16 | (long)head[4] << 24;
        if (t.journal_at + 5 + size > end) break;
        t.rounds += head[0] == 'U';
        t.journal_at += 5 + size;
    }
    fclose(f);
}

static const char *const hardened = "--patience 120 --stale 4 --fresh 5 --every 5";

/* twice, after a third and after two thirds of the rounds */
static void harm_the_server(long now) {
    process *s = &t.p[SERVER];
    if (s->wake && now >= s->wake) start_server(t.server_port, "bad", ROUNDS, hardened);
    if (s->pid == 0 || t.server_kills >= 2 || t.rounds < (t.server_kills + 1) * ROUNDS / 3) return;
    kill(s->pid, SIGKILL);
    (void)wait_for(s->pid);
    s->pid = 0;
    s->wake = now + 300;
    t.server_kills++;
}

/* nobody may die by itself; 1: the server has ended as it should */
static int check_the_living(void) {
    for (int k = 0; k < PROCESSES; k++) {
        int status = 0;
        if (t.p[k].pid <= 0 || waitpid(t.p[k].pid, &status, WNOHANG) <= 0) continue;
        t.p[k].pid = 0;
        if (k == SERVER && WIFEXITED(status) && WEXITSTATUS(status) == 0) return 1;
        if (k == STRANGER && WIFEXITED(status) && WEXITSTATUS(status) == 1) continue;
        if (k < AGENTS && WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
            says("bad.log", "done after"))
            continue;
        fail("process %d ended by itself: %s %d", k, WIFEXITED(status) ? "status" : "signal",
             WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    return 0;
}

static void bad_hours(void) {
    char words[256];
    long next;
    start_relay();
    t.server_starts = 0;
    start_server(t.server_port, "bad", ROUNDS, hardened);
    for (int i = 0; i < AGENTS; i++) start_agent_again(i);
    snprintf(words, sizeof words,
             "agent --index 5 --key strange.secret --server-key keys/server.public --connect "
             "tcp://127.0.0.1:%d --patience 600",
             t.relay_port);
    t.p[STRANGER].pid = start_words("stranger.log", words);
    t.network->on = 1;
    next = relay_now() + 1000;
    while (!check_the_living()) {
        const long now = relay_now();
        count_rounds();
        if (now >= next && t.rounds >= t.harmed + 2) { /* so that a slow machine comes to its end */
            harm_an_agent(now);
            t.harmed = t.rounds;
            next = now + 200 + relay_draw(&t.seed, 500);
        }
        wake_up(now);
        harm_the_server(now);
        if (t.p[SERVER].pid) look_at_memory();
        pause_ms(20);
    }
    t.network->on = 0;
    end_all();
}

/* the number before `text` on the last line of a log that has it */
static long number_before(const char *path, const char *text) {
    char line[512];
    long found = -1;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *at = strstr(line, text);
        if (!at) continue;
        while (at > line && at[-1] >= '0' && at[-1] <= '9') at--;
        found = strtol(at, NULL, 10);
    }
    if (f) fclose(f);
    return found;
}

static void check_the_wicked(void) {
    if (rows_of(GARBLER) != 0 || rows_of(REPEATER) != 0)
        fail("garbage, or a repetition, was taken");
    if (rows_of(FLOODER) <= 0 || rows_of(0) <= 0) fail("nothing of agent 0, or of who floods");
    if (t.kills < 5 || t.stops < 5) fail("%u kills, %u stops: not many", t.kills, t.stops);
    if (t.server_kb > MEMORY_KB) fail("the server had %ld KB", t.server_kb);
    if (!says("stranger.log", "not in its list")) fail("the stranger was let in");
}

static void report(double seconds) {
    char words[] = "replay bad.journal";
    const relay_counts *n = t.network;
    unlink("replay.log");
    check_the_wicked();
    if (wait_for(start_words("replay.log", words)) != 0)
        fail("the replay of the bad hours has other bits");
    const long updates = number_before("replay.log", " updates"),
               messages = number_before("replay.log", " messages");
    if (t.server_kills != 2) fail("the server was killed %u times, not twice", t.server_kills);
    printf("bad hours: learned after %.0f s\n", seconds);
    printf("  injected                                       | lost\n");
    printf("  %4u agents killed, %3u of them with their state | none: all came back\n", t.kills,
           t.fresh);
    printf("  %4u agents stopped and continued               | none\n", t.stops);
    printf("  %4u times the server killed                    | no round: %ld made, %ld of them "
           "anew\n",
           t.server_kills, updates, updates - ROUNDS);
    printf("  %4u connections cut, %u damaged, %u stalled,     | no round\n", n->cuts, n->damages,
           n->stalls);
    printf("       %u chunks delayed; %u connections,\n       %.1f MB over the bad network\n",
           n->delays, n->links, 1e-6 * (double)n->bytes);
    printf("     1 agent floods, 1 sends garbage, 1 repeats   | nothing: the server's memory was "
           "%ld MB at most\n",
           t.server_kb / 1024);
    printf("     1 has a key that nobody knows               | nothing: not let in\n");
    printf("  replayed in one process: %ld messages, the same bits after every update\n", messages);
}

static void make_place(const char *directory) {
    char command[600], words[] = "keys --agents 10 keys";
    if (strlen(directory) > 400 || strpbrk(directory, "'\\")) fail("the directory's name");
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -p '%s'", directory, directory);
    if (system(command) != 0 || chdir(directory) != 0) fail("%s: %s", directory, strerror(errno));
    if (wait_for(start_words("keys.log", words)) != 0) fail("cannot make keys");
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: chaos PROGRAM DIRECTORY [seed]\n"), 2;
    t.program = realpath(argv[1], NULL);
    t.directory = argv[2];
    t.seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    t.network = (relay_counts *)mmap(NULL, sizeof *t.network, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!t.program || t.network == MAP_FAILED) return fprintf(stderr, "cannot start\n"), 1;
    signal(SIGALRM, too_long);
    signal(SIGINT, too_long);
    signal(SIGTERM, too_long);
    alarm(LIMIT);
    make_place(argv[2]);
    t.server_port = relay_free_port();
    quiet_hours();
    mistakes();
    crowded_hours();
    const long from = relay_now();
    bad_hours();
    report(1e-3 * (double)(relay_now() - from));
    return 0;
}
