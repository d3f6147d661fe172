/* federation: Res-NHARPG on many machines. Agents and server are programs that talk by ZeroMQ, over
   CURVE, which encrypts and proves who speaks. Everything that is said is rn_hub's and rn_peer's of
   resnharpg.h; here are sockets, keys, files and what a human wants to see. README.md beside this
   file begins with three commands.
   Build: make build/integrations/zeromq/federation          (Debian: libzmq3-dev) */
#define _POSIX_C_SOURCE 200809L
#define RESNHARPG_IMPLEMENTATION
#include "../../options.h"
#include "agent.h"
#include "replay.h"
#include "server.h"

static int keys_main(int argc, char **argv) {
    enum { AGENTS, NAME, OPTIONS };
    option o[OPTIONS] = {{"--agents", "all keys of a federation of so many, and the list of them",
                          NULL, 0, 1, KEYS_MOST},
                         {"name", "a directory with --agents, else of one key", NULL, 0, 0, 0}};
    options_read(argc, argv, o, OPTIONS,
                 "usage: federation keys --agents 10 DIRECTORY\n"
                 "       federation keys NAME\n"
                 "The first makes DIRECTORY/server.secret, agent0.secret .. and `allowed`. The "
                 "second makes\nNAME.secret and NAME.public and prints the line for the server's "
                 "list.\n");
    if (!o[NAME].text) options_refuse("keys", "where to?");
    if (o[AGENTS].number) {
        keys_make_all(o[NAME].text, o[AGENTS].number);
        printf("%s: server.secret, server.public, allowed, and for %d agents agentN.secret and "
               "agentN.public\n",
               o[NAME].text, (int)o[AGENTS].number);
        return 0;
    }
    const key_pair made = keys_make(o[NAME].text);
    printf("NUMBER %s %s\n", made.open, o[NAME].text);
    return 0;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name, *help;
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"keys", "makes key pairs", keys_main},
        {"server", "waits for agents and trains with them", server_main},
        {"agent", "joins a server", agent_main},
        {"replay", "plays a server's journal again and compares the bits", replay_main}};
    const int count = (int)(sizeof commands / sizeof *commands);
    for (int k = 0; argc > 1 && k < count; k++)
        if (strcmp(argv[1], commands[k].name) == 0) return commands[k].run(argc - 1, argv + 1);
    const int help = argc > 1 && strcmp(argv[1], "--help") == 0;
    fprintf(help ? stdout : stderr, "usage: federation COMMAND [options], or COMMAND --help\n");
    for (int k = 0; k < count; k++)
        fprintf(help ? stdout : stderr, "  %-8s %s\n", commands[k].name, commands[k].help);
    return help ? 0 : 2;
}
