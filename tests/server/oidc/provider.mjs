// A real identity provider (npm's oidc-provider) on this machine, for tests: node provider.mjs PORT REDIRECT SECRET
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [port, redirect, secret] = process.argv.slice(2);
const load = createRequire(`${process.env.OIDC_MODULES}/`);
const { Provider } = await import(pathToFileURL(load.resolve("oidc-provider")).href);
const groups = { ann: ["epi"], olga: ["owners"], eve: [] };
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: "discreet",
    client_secret: secret,
    redirect_uris: [redirect],
    post_logout_redirect_uris: [redirect.replace("/oidc/back", "")],
    grant_types: ["authorization_code"],
    response_types: ["code"],
  }],
  scopes: ["openid", "groups"],
  claims: { openid: ["sub"], groups: ["groups"] },
  conformIdTokenClaims: false,
  cookies: { keys: [secret] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: groups[id] ?? [] }) }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
