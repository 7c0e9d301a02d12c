// The certified OpenID provider of npm, with one client and no pages: every visitor is the person that the environment names.

import { createServer } from "node:http";
import Provider from "oidc-provider";

const port = Number(process.env.PORT);
const person = JSON.parse(process.env.PERSON);
const issuer = `http://127.0.0.1:${port}`;

const provider = new Provider(issuer, {
  clients: [{
    client_id: "chatui",
    client_secret: "a secret / with signs",
    redirect_uris: ["http://testserver/sign-in/with/real/back/"],
  }],
  pkce: { required: () => true },
  claims: { openid: ["sub"], profile: ["preferred_username"], email: ["email", "email_verified"], groups: ["groups"] },
  features: { devInteractions: { enabled: false } },
  cookies: { keys: ["of a test"] },
  interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ ...person, sub: id }) }),
});

const answer = provider.callback();
createServer(async (request, response) => {
  if (!request.url.startsWith("/interaction/")) return answer(request, response);
  const { params, grantId, prompt } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    return provider.interactionFinished(request, response, { login: { accountId: person.sub } });
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: person.sub, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}).listen(port, "127.0.0.1");
