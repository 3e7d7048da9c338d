// A real authorization server: oidc-provider, as its authors ship it, with as little as it needs.
//
// It listens on a free port of the loopback interface, says its issuer in one line of JSON, and
// lives as long as its standard input. Logins and consents are the library's own pages; any login
// is taken, with any password. What it is for comes as JSON in its first argument (`Role` in
// lab/src/issuers/mod.rs); `/log` says what its clients wanted of it, `/issued` all secrets that went
// between it and them, and `/catch-up` sets its clock right.
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import process from 'node:process';

import { Provider } from 'oidc-provider';

const role = JSON.parse(process.argv[2]);
const { accessTokenTTL, refreshTokenTTL } = role;
const tenant = role.tenant === null ? {} : { tenant: role.tenant };
const log = [];
const issued = [];

/** The members of requests and answers at the token endpoint that are secret. */
const SECRET = ['code', 'code_verifier', 'access_token', 'refresh_token', 'id_token'];

// Behind the time until it is told to catch up: who signs in until then has done so long ago.
const now = Date.now;
let { behind } = role;
Date.now = () => now() - behind * 1000;

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const signing = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'one' };

const configuration = {
  clients: role.clients,
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  cookies: { keys: [randomBytes(32).toString('hex')] },
  jwks: { keys: [signing] },
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: (ctx, account, client) =>
    createHash('sha256').update(client.sectorIdentifier).update(account).digest('hex'),
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...tenant }) }),
  // An identity token says it without being asked, as an access token does.
  claims: { openid: ['sub', ...Object.keys(tenant)] },
  conformIdTokenClaims: false,
  extraTokenClaims: () => tenant,
  scopes: ['openid', 'offline_access', ...role.scopes],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  ttl: { AccessToken: accessTokenTTL, RefreshToken: refreshTokenTTL },
  features: {
    devInteractions: { enabled: true },
    dPoP: { enabled: role.binds, nonceSecret: randomBytes(32), requireNonce: () => role.nonces },
    introspection: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      // Without a resource, tokens are texts without a meaning, to be introspected.
      enabled: role.resource !== null,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: role.scopes.join(' '),
        audience: role.resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
    revocation: { enabled: true },
  },
};

/** Logs requests for tokens and revocations once they are answered. */
async function keepLog(ctx, next) {
  await next();
  const { route, client, params } = ctx.oidc;
  const told = { client: client?.clientId ?? null, error: ctx.body?.error ?? null };
  if (route === 'token') log.push({ event: 'token', grant: params?.grant_type ?? null, ...told });
  for (const values of route === 'token' ? [params ?? {}, ctx.body ?? {}] : []) {
    const kinds = SECRET.filter((kind) => values[kind]);
    issued.push(...kinds.map((kind) => ({ client: told.client, kind, value: values[kind] })));
  }
  if (route === 'revocation') log.push({ event: 'revocation', ...told });
}

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://${role.host}:${server.address().port}`;
  const provider = new Provider(issuer, configuration);
  provider.use(keepLog);
  provider.on('grant.revoked', () => log.push({ event: 'family-revoked' }));
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (request.url === '/log') response.end(JSON.stringify(log));
    else if (request.url === '/issued') response.end(JSON.stringify(issued));
    else if (request.url === '/catch-up') response.end(JSON.stringify((behind = 0)));
    else answer(request, response);
  });
  process.stdout.write(`${JSON.stringify({ issuer })}\n`);
});
process.stdin.resume();
process.stdin.on('end', () => process.exit());
