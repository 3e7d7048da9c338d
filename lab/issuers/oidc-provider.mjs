// A real authorization server: oidc-provider, as its authors ship it, with as little as it needs.
//
// It listens on a free port of the loopback interface, says its issuer in one line of JSON, and
// lives as long as its standard input. Logins and consents are the library's own pages; any login
// is taken, with any password.
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import process from 'node:process';

import { Provider } from 'oidc-provider';

const { resource, accessTokenTTL, nonces } = JSON.parse(process.argv[2]);

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const signing = { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'one' };

const configuration = {
  clients: [{
    client_id: 'by-hand',
    client_secret: 'a secret that was given by hand',
    redirect_uris: ['http://127.0.0.1/callback'],
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    subject_type: 'pairwise',
  }],
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  cookies: { keys: [randomBytes(32).toString('hex')] },
  jwks: { keys: [signing] },
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: (ctx, account, client) =>
    createHash('sha256').update(client.sectorIdentifier).update(account).digest('hex'),
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  scopes: ['openid', 'offline_access', 'trips:read', 'trips:write'],
  rotateRefreshToken: true,
  issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
  ttl: { AccessToken: accessTokenTTL },
  features: {
    devInteractions: { enabled: true },
    dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => nonces },
    introspection: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'trips:read trips:write',
        audience: resource,
        accessTokenFormat: 'jwt',
        accessTokenTTL,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
    revocation: { enabled: true },
  },
};

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, configuration);
  server.on('request', provider.callback());
  process.stdout.write(`${JSON.stringify({ issuer })}\n`);
});
process.stdin.resume();
process.stdin.on('end', () => process.exit());
