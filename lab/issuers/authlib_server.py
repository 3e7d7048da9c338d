"""A second authorization server: one made with Authlib and Flask, as its documentation shows it.

It listens on a free port of the loopback interface, says its issuer in one line of JSON, and lives
as long as its standard input. Its one page asks for a login and for consent at the same time, each
time: it remembers nobody. What it is for comes as JSON in its first argument (`Role` in lab/src/issuers/mod.rs); `/log` says what
its clients wanted of it, and `/issued` all secrets that went between it and them.
"""

import html
import json
import os
import secrets
import sys
import threading
import time

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import InvalidRequestError, grants
from authlib.oauth2.rfc6749.models import ClientMixin, TokenMixin
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7591 import ClientMetadataClaims, ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from authlib.oauth2.rfc9207 import IssuerParameter
from authlib.oidc.core import AuthorizationCodeMixin, OpenIDCode, UserInfo
from flask import Flask, jsonify, request
from joserfc.jwk import ECKey, KeySet
from werkzeug.serving import make_server

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # The loopback interface.

ROLE = json.loads(sys.argv[1])
KEY = ECKey.generate_key("P-256", parameters={"kid": "one", "use": "sig", "alg": "ES256"})
CLIENTS, CODES, TOKENS, LOG, ISSUED = {}, {}, [], [], []

# The members of requests and answers at the token endpoint that are secret.
SECRET = ("code", "code_verifier", "access_token", "refresh_token", "id_token")

app = Flask(__name__)


class User:
    def __init__(self, name):
        self.name = name

    def get_user_id(self):
        return self.name


class Client(ClientMixin):
    def __init__(self, info, metadata):
        self.client_id = info["client_id"]
        self.client_secret = info.get("client_secret", "")
        self.metadata = metadata

    @property
    def client_info(self):
        return {"client_id": self.client_id, "client_id_issued_at": int(time.time())}

    @property
    def client_metadata(self):
        return self.metadata

    def get_client_id(self):
        return self.client_id

    def get_default_redirect_uri(self):
        return self.metadata["redirect_uris"][0]

    def get_allowed_scope(self, scope):
        return scope or ""

    def check_redirect_uri(self, redirect_uri):
        return redirect_uri in self.metadata["redirect_uris"]

    def check_client_secret(self, client_secret):
        return bool(self.client_secret) and self.client_secret == client_secret

    def check_endpoint_auth_method(self, method, endpoint):
        return method == self.metadata.get("token_endpoint_auth_method", "client_secret_basic")

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return grant_type in self.metadata.get("grant_types", ["authorization_code"])


class Code(AuthorizationCodeMixin):
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope

    def get_auth_time(self):
        return self.auth_time

    def get_nonce(self):
        return self.nonce


class Token(TokenMixin):
    def __init__(self, token, client, user, family):
        self.values, self.client, self.user = token, client, user
        self.used, self.revoked = False, False
        self.issued_at = time.time()
        # All tokens that come from one consent.
        self.family = family or secrets.token_urlsafe(8)

    def check_client(self, client):
        return self.client.client_id == client.client_id

    def get_scope(self):
        return self.values.get("scope", "")

    def get_expires_in(self):
        return self.values["expires_in"]

    def is_expired(self):
        return time.time() >= self.issued_at + self.get_expires_in()

    def is_refreshable(self):
        return not self.revoked and time.time() < self.issued_at + ROLE["refreshTokenTTL"]

    def revoke_family(self):
        for token in TOKENS:
            if token.family == self.family:
                token.revoked = True
        LOG.append({"event": "family-revoked"})

    def is_revoked(self):
        return self.revoked

    def get_user(self):
        return self.user

    def get_client(self):
        return self.client


class AuthorizationCodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]

    def save_authorization_code(self, code, request):
        CODES[code] = Code(
            code=code,
            client_id=request.client.client_id,
            redirect_uri=request.payload.redirect_uri,
            scope=request.payload.scope or "",
            user=request.user,
            nonce=request.payload.data.get("nonce"),
            # Its page asks who somebody is each time.
            auth_time=int(time.time()),
            code_challenge=request.payload.data.get("code_challenge"),
            code_challenge_method=request.payload.data.get("code_challenge_method"),
        )

    def query_authorization_code(self, code, client):
        found = CODES.get(code)
        return found if found and found.client_id == client.client_id else None

    def delete_authorization_code(self, authorization_code):
        del CODES[authorization_code.code]

    def authenticate_user(self, authorization_code):
        return authorization_code.user


class Challenge(CodeChallenge):
    """Required of every client; Authlib requires it of those without a secret."""

    def validate_code_challenge(self, grant, redirect_uri):
        if not grant.request.payload.data.get("code_challenge"):
            raise InvalidRequestError("Missing 'code_challenge'")
        super().validate_code_challenge(grant, redirect_uri)


class OpenID(OpenIDCode):
    """Identity tokens, for clients that ask who somebody is."""

    def exists_nonce(self, nonce, request):
        return any(code.nonce == nonce for code in CODES.values())

    def resolve_client_private_key(self, client):
        return KEY

    def get_client_algorithm(self, client):
        return "ES256"

    def get_encode_header(self, client):
        return {"alg": "ES256", "kid": KEY.kid}

    def get_client_claims(self, client):
        return {"iss": app.issuer, "aud": [client.get_client_id()]}

    def generate_user_info(self, user, scope):
        return UserInfo(sub=user.get_user_id())


class RefreshTokenGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token):
        for token in TOKENS:
            if token.values.get("refresh_token") != refresh_token or not token.is_refreshable():
                continue
            if token.used:
                # Somebody has a copy, and nobody can say who.
                token.revoke_family()
                return None
            return token

    def authenticate_user(self, refresh_token):
        return refresh_token.user

    def revoke_old_credential(self, refresh_token):
        refresh_token.used = True


def query_token(token_string):
    for token in TOKENS:
        if token_string in (token.values["access_token"], token.values.get("refresh_token")):
            return token


class Revocation(RevocationEndpoint):
    CLIENT_AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]

    def query_token(self, token_string, token_type_hint):
        return query_token(token_string)

    def revoke_token(self, token, request):
        token.revoke_family()


class Introspection(IntrospectionEndpoint):
    CLIENT_AUTH_METHODS = ["client_secret_basic", "client_secret_post"]

    def check_permission(self, token, client, request):
        return True

    def query_token(self, token_string, token_type_hint):
        return query_token(token_string)

    def introspect_token(self, token):
        return {
            "active": True,
            "client_id": token.client.client_id,
            "iss": app.issuer,
            "scope": token.get_scope(),
            "sub": token.user.name,
            "token_type": "Bearer",
        }


class Registration(ClientRegistrationEndpoint):
    def authenticate_token(self, request):
        return True

    def get_server_metadata(self):
        return metadata()

    def save_client(self, client_info, client_metadata, request):
        client = Client(client_info, dict(client_metadata))
        CLIENTS[client.client_id] = client
        return client


class Tokens(JWTBearerTokenGenerator):
    def get_jwks(self):
        return KeySet([KEY]).as_dict(private=True)

    def get_audiences(self, client, user, scope):
        return request.form.get("resource", ROLE["resource"] or app.issuer)


class Issuer(IssuerParameter):
    def get_issuer(self):
        return app.issuer


def save_token(token, request):
    before = request.refresh_token
    TOKENS.append(Token(token, request.client, request.user, before and before.family))


def log(event, response):
    said = response.get_json(silent=True) or {}
    basic = request.authorization and request.authorization.username
    client = basic or request.form.get("client_id")
    LOG.append({"event": event, "client": client, "error": said.get("error")})
    return response


server = AuthorizationServer(app, query_client=CLIENTS.get, save_token=save_token)


def metadata():
    at = app.issuer
    return {
        "issuer": at,
        "authorization_endpoint": f"{at}/authorize",
        "token_endpoint": f"{at}/token",
        "registration_endpoint": f"{at}/register",
        "revocation_endpoint": f"{at}/revoke",
        "introspection_endpoint": f"{at}/introspect",
        "jwks_uri": f"{at}/jwks",
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        "revocation_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "scopes_supported": ["openid", *ROLE["scopes"]],
        "subject_types_supported": ["public"],
        "authorization_response_iss_parameter_supported": True,
    }


@app.get("/.well-known/oauth-authorization-server")
def describe():
    return jsonify(metadata())


@app.get("/jwks")
def jwks():
    return jsonify(KeySet([KEY]).as_dict(private=False))


PAGE = """<!doctype html>
<html lang="en">
<title>Sign in</title>
<main>
<h1>{client} wants: {scopes}</h1>
<form action="{action}" method="post">
<input type="hidden" name="prompt" value="login"/>
<label>Login <input name="login" required></label>
<button name="answer" value="allow">Allow</button>
<button name="answer" value="deny" formnovalidate>Deny</button>
</form>
</main>
"""


@app.errorhandler(OAuth2Error)
def refuse(error):
    return html.escape(f"{error.error}: {error.description}"), 400


@app.get("/authorize")
def ask():
    grant = server.get_consent_grant(end_user=None)
    words = {
        "client": grant.client.client_id,
        "scopes": grant.request.payload.scope or "nothing",
        "action": f"{app.issuer}{request.full_path}",
    }
    return PAGE.format(**{name: html.escape(word) for name, word in words.items()})


@app.post("/authorize")
def agree():
    grant = server.get_consent_grant(end_user=None)
    denied = request.form.get("answer") == "deny"
    user = None if denied else User(request.form["login"])
    return server.create_authorization_response(grant_user=user, grant=grant)


@app.post("/token")
def token():
    response = log("token", server.create_token_response())
    LOG[-1]["grant"] = request.form.get("grant_type")
    for values in (request.form, response.get_json(silent=True) or {}):
        kinds = [kind for kind in SECRET if values.get(kind)]
        told = {"client": LOG[-1]["client"]}
        ISSUED.extend({**told, "kind": kind, "value": values[kind]} for kind in kinds)
    return response


@app.post("/register")
def register():
    return server.create_endpoint_response("client_registration")


@app.post("/revoke")
def revoke():
    return log("revocation", server.create_endpoint_response("revocation"))


@app.post("/introspect")
def introspect():
    return server.create_endpoint_response("introspection")


@app.get("/log")
def tell():
    return jsonify(LOG)


@app.get("/issued")
def tell_issued():
    return jsonify(ISSUED)


def main():
    http = make_server("127.0.0.1", 0, app, threaded=True)
    app.issuer = f"http://{ROLE['host']}:{http.port}"
    for client in ROLE["clients"]:
        CLIENTS[client["client_id"]] = Client(client, client)
    server.register_grant(AuthorizationCodeGrant, [Challenge(required=True), OpenID()])
    server.register_grant(RefreshTokenGrant)
    server.register_endpoint(Revocation)
    server.register_endpoint(Introspection)
    server.register_endpoint(Registration([ClientMetadataClaims]))
    tokens = Tokens(
        issuer=app.issuer,
        alg="ES256",
        refresh_token_generator=lambda *args, **words: secrets.token_urlsafe(32),
        expires_generator=lambda *args: ROLE["accessTokenTTL"],
    )
    server.register_token_generator("default", tokens)
    server.register_extension(Issuer())
    print(json.dumps({"issuer": app.issuer}), flush=True)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    sys.stdin.read()


main()
