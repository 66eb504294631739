/* The two ends of open62541, for the suite beside it.
 *
 *   peer client URL POLICY MODE CERT KEY [USER PASSWORD]
 *   peer server PORT RSA-CERT RSA-KEY P256-CERT P256-KEY P384-CERT P384-KEY
 *
 * The client reads the server's time until two security tokens have been renewed, and ends with 0 when that worked. The
 * server offers every policy of the suite until it is ended, to anybody and to user "operator" with password "secret". */

#include <open62541/client.h>
#include <open62541/client_config_default.h>
#include <open62541/client_highlevel.h>
#include <open62541/plugin/accesscontrol_default.h>
#include <open62541/plugin/certificategroup_default.h>
#include <open62541/plugin/log_stdout.h>
#include <open62541/plugin/securitypolicy_default.h>
#include <open62541/server.h>
#include <open62541/server_config_default.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define URI "urn:interop:open62541"
#define POLICIES "http://opcfoundation.org/UA/SecurityPolicy#"

typedef UA_StatusCode (*PolicyMaker)(UA_SecurityPolicy *, UA_ApplicationType, UA_ByteString, UA_ByteString,
                                     const UA_Logger *);

static const struct {
    const char *name;
    PolicyMaker make;
    int pair; /* of the arguments of the server: 0 RSA, 1 P-256, 2 P-384 */
} policies[] = {
    {"ECC_nistP256", (PolicyMaker)UA_SecurityPolicy_EccNistP256, 1},
    {"ECC_nistP384", (PolicyMaker)UA_SecurityPolicy_EccNistP384, 2},
    {"Basic256", NULL, 0},
    {"Basic128Rsa15", NULL, 0},
    {"Basic256Sha256", NULL, 0},
};
#define COUNT (sizeof(policies) / sizeof(policies[0]))

static UA_StatusCode makePolicy(size_t i, UA_SecurityPolicy *p, UA_ApplicationType type, UA_ByteString cert, UA_ByteString key,
                                const UA_Logger *log) {
    if(policies[i].make)
        return policies[i].make(p, type, cert, key, log);
    if(!strcmp(policies[i].name, "Basic256"))
        return UA_SecurityPolicy_Basic256(p, cert, key, log);
    if(!strcmp(policies[i].name, "Basic128Rsa15"))
        return UA_SecurityPolicy_Basic128Rsa15(p, cert, key, log);
    return UA_SecurityPolicy_Basic256Sha256(p, cert, key, log);
}

static UA_ByteString load(const char *path) {
    UA_ByteString b = UA_BYTESTRING_NULL;
    FILE *f = fopen(path, "rb");
    if(!f) {
        perror(path);
        exit(2);
    }
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    if(UA_ByteString_allocBuffer(&b, (size_t)n) || fread(b.data, 1, (size_t)n, f) != (size_t)n)
        exit(2);
    fclose(f);
    return b;
}

static void check(const char *what, UA_StatusCode code) {
    if(code == UA_STATUSCODE_GOOD)
        return;
    fprintf(stderr, "%s: %s\n", what, UA_StatusCode_name(code));
    exit(1);
}

static int client(int argc, char **argv) {
    if(argc < 7)
        return 2;
    UA_ByteString cert = load(argv[5]), key = load(argv[6]);
    UA_Client *c = UA_Client_new();
    UA_ClientConfig *config = UA_Client_getConfig(c);
    check("configuration", UA_ClientConfig_setDefault(config));
    UA_CertificateGroup_AcceptAll(&config->certificateVerification);
    UA_String_clear(&config->clientDescription.applicationUri);
    config->clientDescription.applicationUri = UA_STRING_ALLOC(URI);
    config->secureChannelLifeTime = 10000; /* the least that the server grants */
    config->securityMode = (UA_MessageSecurityMode)atoi(argv[4]);
    char uri[128];
    snprintf(uri, sizeof(uri), POLICIES "%s", argv[3]);
    config->securityPolicyUri = UA_STRING_ALLOC(uri);
    for(size_t i = 0; i < COUNT; i++) {
        /* Secrets of RSA endpoints may be protected with Basic256Sha256 whatever the channel has. */
        int chosen = !strcmp(policies[i].name, argv[3]);
        int forSecrets = !strcmp(policies[i].name, "Basic256Sha256") && strncmp(argv[3], "ECC", 3);
        if(!chosen && !forSecrets)
            continue;
        UA_SecurityPolicy *more = (UA_SecurityPolicy *)UA_realloc(
            config->securityPolicies, sizeof(UA_SecurityPolicy) * (config->securityPoliciesSize + 1));
        config->securityPolicies = more;
        check("policy", makePolicy(i, &more[config->securityPoliciesSize], UA_APPLICATIONTYPE_CLIENT, cert, key, config->logging));
        config->securityPoliciesSize++;
        more = (UA_SecurityPolicy *)UA_realloc(config->authSecurityPolicies,
                                               sizeof(UA_SecurityPolicy) * (config->authSecurityPoliciesSize + 1));
        config->authSecurityPolicies = more;
        check("user policy",
              makePolicy(i, &more[config->authSecurityPoliciesSize], UA_APPLICATIONTYPE_CLIENT, cert, key, config->logging));
        config->authSecurityPoliciesSize++;
    }
    if(argc >= 9)
        check("connect", UA_Client_connectUsername(c, argv[2], argv[7], argv[8]));
    else
        check("connect", UA_Client_connect(c, argv[2]));
    /* Tokens last 10 s and are renewed after three quarters of that. */
    int rounds = getenv("SHORT") ? 1 : 18;
    for(int i = 0; i < rounds; i++) {
        UA_Variant v;
        UA_Variant_init(&v);
        check("read", UA_Client_readValueAttribute(c, UA_NODEID_NUMERIC(0, UA_NS0ID_SERVER_SERVERSTATUS_CURRENTTIME), &v));
        if(!UA_Variant_hasScalarType(&v, &UA_TYPES[UA_TYPES_DATETIME])) {
            fprintf(stderr, "the time is no time\n");
            return 1;
        }
        UA_Variant_clear(&v);
        if(i + 1 < rounds) {
            check("iterate", UA_Client_run_iterate(c, 10));
            usleep(1000 * 1000);
        }
    }
    check("disconnect", UA_Client_disconnect(c));
    return 0;
}

static volatile UA_Boolean running = true;
static void stop(int sig) {
    (void)sig;
    running = false;
}

static int server(int argc, char **argv) {
    if(argc < 9)
        return 2;
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    UA_ByteString certs[3], keys[3];
    for(int i = 0; i < 3; i++) {
        certs[i] = load(argv[3 + 2 * i]);
        keys[i] = load(argv[4 + 2 * i]);
    }
    UA_Server *s = UA_Server_new();
    UA_ServerConfig *config = UA_Server_getConfig(s);
    check("configuration", UA_ServerConfig_setMinimal(config, (UA_UInt16)atoi(argv[2]), NULL));
    UA_String_clear(&config->applicationDescription.applicationUri);
    config->applicationDescription.applicationUri = UA_STRING_ALLOC(URI);
    UA_CertificateGroup_AcceptAll(&config->secureChannelPKI);
    UA_CertificateGroup_AcceptAll(&config->sessionPKI);
    for(size_t i = 0; i < COUNT; i++) {
        config->securityPolicies = (UA_SecurityPolicy *)UA_realloc(
            config->securityPolicies, sizeof(UA_SecurityPolicy) * (config->securityPoliciesSize + 1));
        check(policies[i].name, makePolicy(i, &config->securityPolicies[config->securityPoliciesSize], UA_APPLICATIONTYPE_SERVER,
                                           certs[policies[i].pair], keys[policies[i].pair], config->logging));
        config->securityPoliciesSize++;
    }
    check("endpoints", UA_ServerConfig_addAllEndpoints(config));
    UA_UsernamePasswordLogin login = {UA_STRING_STATIC("operator"), UA_STRING_STATIC("secret")};
    check("access", UA_AccessControl_default(config, true, NULL, 1, &login));
    return UA_Server_run(s, &running) == UA_STATUSCODE_GOOD ? 0 : 1;
}

int main(int argc, char **argv) {
    if(argc > 2 && !strcmp(argv[1], "client"))
        return client(argc, argv);
    if(argc > 2 && !strcmp(argv[1], "server"))
        return server(argc, argv);
    fprintf(stderr, "peer client|server ...\n");
    return 2;
}
