/* Hands its work to a service that runs elsewhere (argv[2]: its socket): no descendant, and so a
 * documented limit. */
#include "misbehave.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char answer;
    hold(argv[1]);
    if (argc < 3)
        return 3;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", argv[2]);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        cannot("reach the service");
    if (write(fd, argv[1], strlen(argv[1])) < 0 || read(fd, &answer, 1) != 1)
        cannot("ask the service");
    close(fd);
    ready(argv[1]);
    linger();
}
