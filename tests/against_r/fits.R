# R's own fits of the formulas below, over data sets that come with R: Rscript fits.R > fits.json
# (R 4.2, packages splines, jsonlite). The rows are written beside the numbers.
library(splines)
suppressMessages(library(jsonlite))

mtcars$cyl <- as.numeric(mtcars$cyl)
mtcars$gear_f <- factor(mtcars$gear)
warpbreaks$breaks <- as.numeric(warpbreaks$breaks)
air <- na.omit(airquality)
chick <- as.data.frame(chickwts)
esoph2 <- data.frame(
  agegp = factor(esoph$agegp, ordered = TRUE), alcgp = factor(esoph$alcgp, ordered = TRUE),
  tobgp = factor(esoph$tobgp, ordered = TRUE), ncases = esoph$ncases,
  ncontrols = esoph$ncontrols
)
esoph2$share <- esoph2$ncases / (esoph2$ncases + esoph2$ncontrols)
esoph2$trials <- esoph2$ncases + esoph2$ncontrols
plants <- as.data.frame(CO2)
plants$Plant <- NULL
tables <- list(
  mtcars = mtcars, warpbreaks = warpbreaks, air = air, chick = chick, swiss = swiss,
  tooth = ToothGrowth, iris = iris, cars = cars, women = women, quakes = quakes[1:300, ],
  insects = InsectSprays, plants = plants, infert = infert[, c(
    "education", "age", "parity", "induced", "case", "spontaneous"
  )],
  esoph = esoph2, attitude = attitude, longley = longley, trees = trees, faithful = faithful,
  savings = LifeCycleSavings, growth = PlantGrowth, npk = npk
)

linear <- list(
  c("mtcars", "mpg ~ wt"),
  c("mtcars", "mpg ~ wt + hp"),
  c("mtcars", "mpg ~ wt * hp"),
  c("mtcars", "mpg ~ wt + I(wt^2)"),
  c("mtcars", "mpg ~ poly(wt, 2)"),
  c("mtcars", "mpg ~ poly(wt, 3, raw = TRUE)"),
  c("mtcars", "mpg ~ factor(cyl)"),
  c("mtcars", "mpg ~ as.factor(cyl) + wt"),
  c("mtcars", "mpg ~ factor(cyl) * wt"),
  c("mtcars", "mpg ~ factor(cyl):wt"),
  c("mtcars", "mpg ~ wt + factor(cyl):wt"),
  c("mtcars", "mpg ~ 0 + factor(cyl)"),
  c("mtcars", "mpg ~ factor(cyl) - 1 + wt"),
  c("mtcars", "mpg ~ factor(hp > 120)"),
  c("mtcars", "mpg ~ I(hp > 120) + wt"),
  c("mtcars", "mpg ~ I(hp > 120 & wt < 3.5)"),
  c("mtcars", "mpg ~ I(!(hp > 120) | wt == 3.44)"),
  c("mtcars", "mpg ~ I(carb %in% c(1, 2)) + wt"),
  c("mtcars", "mpg ~ I(1 * (gear == 4)) + qsec"),
  c("mtcars", "mpg ~ relevel(gear_f, ref = '4')"),
  c("mtcars", "mpg ~ relevel(factor(gear), ref = '5') + wt"),
  c("mtcars", "mpg ~ ordered(gear)"),
  c("mtcars", "mpg ~ ordered(cyl) + wt"),
  c("mtcars", "mpg ~ cut(wt, breaks = c(1, 2.5, 3.5, 6))"),
  c("mtcars", "mpg ~ cut(wt, c(1, 2.5, 3.5, 6), right = FALSE) + hp"),
  c("mtcars", "mpg ~ cut(wt, c(1, 2.5, 3.5, 6), labels = c('low', 'mid', 'high'))"),
  c("mtcars", "mpg ~ ifelse(hp > 150, wt, 0) + wt"),
  c("mtcars", "mpg ~ pmin(hp, 200) + pmax(wt, 2.5)"),
  c("mtcars", "mpg ~ log(wt, 2) + log10(hp)"),
  c("mtcars", "mpg ~ log(hp, base = 2)"),
  c("mtcars", "log(mpg) ~ log(hp) + sqrt(disp)"),
  c("mtcars", "log1p(mpg) ~ expm1(wt / 10)"),
  c("mtcars", "mpg ~ exp(-wt) + abs(hp - 150)"),
  c("mtcars", "mpg ~ I(hp %% 50) + I(hp %/% 50)"),
  c("mtcars", "mpg ~ round(wt) + floor(qsec) + ceiling(drat) + trunc(hp / 10)"),
  c("mtcars", "mpg ~ round(wt, 1)"),
  c("mtcars", "mpg ~ scale(wt) + scale(hp, scale = FALSE)"),
  c("mtcars", "mpg ~ scale(wt, center = FALSE)"),
  c("mtcars", "mpg ~ ns(wt, df = 3)"),
  c("mtcars", "mpg ~ ns(hp, 4) + wt"),
  c("mtcars", "mpg ~ ns(hp, knots = c(100, 180), Boundary.knots = c(60, 300))"),
  c("mtcars", "mpg ~ ns(wt, df = 3, intercept = TRUE) - 1"),
  c("mtcars", "mpg ~ bs(wt, df = 5)"),
  c("mtcars", "mpg ~ bs(wt, knots = 3, degree = 2)"),
  c("mtcars", "mpg ~ bs(hp, knots = c(100, 180), Boundary.knots = c(50, 350))"),
  c("mtcars", "mpg ~ interaction(am, vs)"),
  c("mtcars", "mpg ~ interaction(gear_f, am) + wt"),
  c("mtcars", "mpg ~ gear_f / wt"),
  c("mtcars", "mpg ~ wt + gear_f %in% am"),
  c("mtcars", "mpg ~ (wt + hp + qsec)^2"),
  c("mtcars", "mpg ~ (wt + hp + qsec)^2 - wt:hp"),
  c("mtcars", "mpg ~ wt * hp * am"),
  c("mtcars", "mpg ~ . - gear_f - carb"),
  c("mtcars", "mpg ~ wt + offset(0.01 * hp)"),
  c("mtcars", "mpg ~ 1"),
  c("mtcars", "mpg ~ wt + as.numeric(hp > 100)"),
  c("mtcars", "mpg ~ C(gear_f, contr.sum)"),
  c("mtcars", "mpg ~ C(gear_f, contr.helmert) + wt"),
  c("mtcars", "mpg ~ C(gear_f, contr.poly)"),
  c("mtcars", "I(mpg^2) ~ wt"),
  c("warpbreaks", "breaks ~ wool * tension"),
  c("warpbreaks", "breaks ~ wool:tension"),
  c("warpbreaks", "breaks ~ tension - 1"),
  c("warpbreaks", "breaks ~ relevel(tension, 'M') + wool"),
  c("air", "Ozone ~ Solar.R + Wind + Temp"),
  c("air", "log(Ozone) ~ Solar.R + Wind * Temp + factor(Month)"),
  c("air", "Ozone ~ I(Temp - 32) + I(Wind > 10)"),
  c("chick", "weight ~ feed"),
  c("swiss", "Fertility ~ ."),
  c("swiss", "Fertility ~ . - Examination"),
  c("swiss", "Fertility ~ . + I(Education^2)"),
  c("tooth", "len ~ supp * dose"),
  c("tooth", "len ~ supp * factor(dose)"),
  c("tooth", "len ~ supp + log2(dose)"),
  c("iris", "Sepal.Length ~ Species + Petal.Width"),
  c("iris", "Sepal.Length ~ Species * Petal.Width"),
  c("iris", "Sepal.Length ~ Species:Petal.Width - 1"),
  c("iris", "Sepal.Length ~ I(Species == 'setosa') * Petal.Width"),
  c("iris", "Sepal.Length ~ I(Species %in% c('setosa', 'virginica')) + Petal.Width"),
  c("cars", "dist ~ speed + I(speed^2)"),
  c("cars", "dist ~ 0 + speed + I(speed^2)"),
  c("women", "weight ~ poly(height, 2)"),
  c("quakes", "mag ~ log(stations) + depth"),
  c("quakes", "mag ~ ns(depth, 3) + bs(stations, df = 4)"),
  c("insects", "sqrt(count) ~ spray"),
  c("plants", "uptake ~ Type * Treatment + log(conc)"),
  c("plants", "uptake ~ Type / conc"),
  c("plants", "uptake ~ Type * poly(conc, 2)"),
  c("esoph", "ncases ~ agegp"),
  c("esoph", "ncases ~ agegp + tobgp"),
  c("attitude", "rating ~ complaints + learning + advance"),
  c("longley", "Employed ~ GNP + Year"),
  c("trees", "log(Volume) ~ log(Girth) + log(Height)"),
  c("trees", "Volume ~ I(Girth^2 * Height) - 1"),
  c("faithful", "eruptions ~ waiting"),
  c("savings", "sr ~ pop15 + pop75 + dpi + ddpi"),
  c("growth", "weight ~ group"),
  c("npk", "yield ~ block + N * P * K - N:P:K"),
  c("npk", "yield ~ N * K"),
  c("mtcars", "mpg ~ factor(cyl) * poly(wt, 2)"),
  c("mtcars", "mpg ~ (wt + hp)^2 - hp"),
  c("mtcars", "mpg ~ wt:hp"),
  c("mtcars", "mpg ~ wt + wt:hp + hp"),
  c("mtcars", "mpg ~ 0 + wt + factor(am)"),
  c("mtcars", "mpg ~ factor(am) / factor(vs)"),
  c("mtcars", "mpg ~ factor(am):factor(vs) - 1"),
  c("mtcars", "mpg ~ I(wt / hp) + I(sqrt(wt) * 2 - 1)"),
  c("mtcars", "mpg ~ I((wt - 3)^2) + I(1 / hp)"),
  c("mtcars", "mpg ~ I(log(hp)^2) + exp(wt / 5)"),
  c("mtcars", "mpg ~ poly(log(hp), 2) + wt"),
  c("mtcars", "mpg ~ poly(wt, degree = 2) * am"),
  c("mtcars", "mpg ~ ns(log(hp), 3)"),
  c("mtcars", "mpg ~ ns(wt, 2):am + am"),
  c("mtcars", "mpg ~ bs(wt, degree = 1, knots = c(3))"),
  c("mtcars", "mpg ~ bs(wt, df = 6, degree = 2)"),
  c("mtcars", "mpg ~ bs(hp, knots = c(100, 180), Boundary.knots = c(60, 300))"),
  c("mtcars", "mpg ~ ns(hp, knots = 120)"),
  c("mtcars", "mpg ~ ns(hp, df = 3, Boundary.knots = c(80, 250))"),
  c("mtcars", "mpg ~ cut(hp, breaks = c(0, 100, 150, 400), labels = FALSE)"),
  c("mtcars", "mpg ~ cut(hp, c(0, 100, 150, 400)) * wt"),
  c("mtcars", "mpg ~ cut(hp, c(52, 100, 150, 335), include.lowest = TRUE)"),
  c("mtcars", "mpg ~ factor(cut(hp, c(0, 100, 400)))"),
  c("mtcars", "mpg ~ ifelse(gear_f == '4', wt, hp / 100)"),
  c("mtcars", "mpg ~ ifelse(am == 1 & vs == 0, 1, 0) + wt"),
  c("mtcars", "mpg ~ pmax(wt, hp / 60) + pmin(qsec, 18, 20)"),
  c("mtcars", "mpg ~ factor(gear, levels = c(5, 4, 3))"),
  c("mtcars", "mpg ~ factor(gear_f, levels = c('4', '3', '5')) + wt"),
  c("mtcars", "mpg ~ relevel(gear_f, '5') * wt"),
  c("mtcars", "mpg ~ as.ordered(gear) * wt"),
  c("mtcars", "mpg ~ C(factor(gear), contr.sum)"),
  c("mtcars", "mpg ~ C(gear_f, contr.treatment, base = 2)"),
  c("mtcars", "mpg ~ C(gear_f, contr.SAS)"),
  c("mtcars", "mpg ~ C(gear_f, sum)"),
  c("mtcars", "mpg ~ sign(wt - 3) + I(wt >= 3 & wt <= 4)"),
  c("mtcars", "mpg ~ I(am == TRUE) + wt"),
  c("mtcars", "mpg ~ as.integer(wt) + as.logical(am)"),
  c("mtcars", "mpg ~ wt + I(wt^2) + I(wt^3)"),
  c("mtcars", "mpg ~ wt + hp + drat + qsec + factor(cyl) + factor(carb > 2)"),
  c("mtcars", "mpg ~ wt * (hp + am)"),
  c("mtcars", "mpg ~ (wt + hp + am)^3"),
  c("mtcars", "mpg ~ . - gear_f - carb - gear + wt:hp"),
  c("mtcars", "mpg ~ scale(wt) * scale(hp)"),
  c("mtcars", "mpg ~ I(scale(wt)^2)"),
  c("mtcars", "mpg ~ log(wt) * log(hp)"),
  c("mtcars", "mpg ~ offset(wt) + hp"),
  c("mtcars", "mpg ~ wt + sin(qsec) + cos(qsec) + tan(wt / 10)"),
  c("mtcars", "mpg ~ I(5 * wt) + I(-hp)"),
  c("mtcars", "mpg ~ wt^2"),
  c("mtcars", "mpg ~ +wt + hp"),
  c("mtcars", "I(mpg / wt) ~ hp"),
  c("mtcars", "sqrt(mpg) ~ hp"),
  c("mtcars", "mpg ~ interaction(am, vs, sep = '_')"),
  c("warpbreaks", "breaks ~ wool + tension"),
  c("warpbreaks", "log(breaks) ~ wool * relevel(tension, ref = 'H')"),
  c("warpbreaks", "breaks ~ wool / tension"),
  c("warpbreaks", "breaks ~ (wool + tension)^2 - wool"),
  c("iris", "Sepal.Length ~ Species / Petal.Width - 1"),
  c("iris", "Sepal.Length ~ (Species + Petal.Width + Petal.Length)^2"),
  c("iris", "Sepal.Length ~ Species * poly(Petal.Width, 2)"),
  c("iris", "Sepal.Length ~ factor(Species == 'setosa')"),
  c("iris", "Sepal.Length ~ Species %in% Petal.Width"),
  c("esoph", "share ~ agegp * alcgp"),
  c("esoph", "ncases ~ unclass(agegp)"),
  c("esoph", "ncases ~ as.numeric(agegp) + alcgp"),
  c("esoph", "ncases ~ factor(agegp, ordered = FALSE)"),
  c("esoph", "ncases ~ C(agegp, contr.treatment)"),
  c("infert", "spontaneous ~ education + age"),
  c("infert", "age ~ education * induced"),
  c("plants", "uptake ~ Type:Treatment:conc"),
  c("plants", "uptake ~ Type + Type:conc"),
  c("plants", "uptake ~ log(conc) %in% Type"),
  c("insects", "count ~ spray - 1"),
  c("chick", "log(weight) ~ feed"),
  c("tooth", "len ~ factor(dose) / supp")
)
weighted <- list(
  list("mtcars", "mpg ~ wt", "qsec"),
  list("air", "Ozone ~ Wind + Temp", "Day"),
  list("savings", "sr ~ pop15 + ddpi", "dpi")
)
general <- list(
  list("mtcars", "am ~ wt", "binomial"),
  list("infert", "case ~ spontaneous + induced", "binomial"),
  list("infert", "case ~ age + parity + education + spontaneous + induced", "binomial"),
  list("infert", "case ~ ns(age, 2) + factor(spontaneous)", "binomial"),
  list("insects", "count ~ spray", "poisson"),
  list("warpbreaks", "breaks ~ wool * tension", "poisson"),
  list("warpbreaks", "breaks ~ wool + offset(log(breaks + 10))", "poisson"),
  list("trees", "Volume ~ log(Girth) + log(Height)", "Gamma")
)

numbers <- function(x) unname(as.numeric(x))
told <- function(fit, table) {
  s <- summary(fit)
  co <- coef(s)
  out <- list(names = rownames(co), coef = numbers(co[, 1]), se = numbers(co[, 2]))
  new <- tables[[table]] # whole, since relevel() needs all levels; the first five rows are told
  first <- 1:5
  if (inherits(fit, "glm")) {
    out$dispersion <- s$dispersion
    out$response <- numbers(predict(fit, new, type = "response")[first])
    p <- predict(fit, new, se.fit = TRUE)
    out$link <- numbers(p$fit[first])
    out$link_se <- numbers(p$se.fit[first])
    return(out)
  }
  a <- anova(fit)
  out$sigma <- s$sigma
  out$r2 <- s$r.squared
  out$adj <- s$adj.r.squared
  out$df <- fit$df.residual
  out$terms <- rownames(a)[-nrow(a)]
  out$anova_df <- numbers(a[-nrow(a), "Df"])
  out$anova_f <- numbers(a[-nrow(a), "F value"])
  ci <- confint(fit)
  out$low <- numbers(ci[, 1])
  out$high <- numbers(ci[, 2])
  for (kind in c("confidence", "prediction")) {
    p <- suppressWarnings(predict(fit, new, interval = kind))[first, ]
    out[[kind]] <- list(fit = numbers(p[, 1]), low = numbers(p[, 2]), high = numbers(p[, 3]))
  }
  out
}
fits <- list()
for (one in linear) {
  fit <- lm(as.formula(one[2]), tables[[one[1]]])
  fits[[length(fits) + 1]] <- c(list(table = one[1], formula = one[2]), told(fit, one[1]))
}
for (one in weighted) {
  data <- tables[[one[[1]]]]
  data$w <- data[[one[[3]]]]
  fit <- lm(as.formula(one[[2]]), data, weights = w)
  tables[[one[[1]]]] <- data
  new <- c(list(table = one[[1]], formula = one[[2]], weights = one[[3]]), told(fit, one[[1]]))
  tables[[one[[1]]]]$w <- NULL
  fits[[length(fits) + 1]] <- new
}
for (one in general) {
  fit <- glm(as.formula(one[[2]]), tables[[one[[1]]]],
    family = if (one[[3]] == "Gamma") Gamma("log") else one[[3]],
    control = list(epsilon = 1e-14, maxit = 100)
  )
  new <- list(table = one[[1]], formula = one[[2]], family = one[[3]])
  fits[[length(fits) + 1]] <- c(new, told(fit, one[[1]]))
}
kinds <- function(x) if (is.ordered(x)) "ordered" else if (is.factor(x)) "factor" else "number"
data <- lapply(tables, function(t) {
  list(
    kinds = lapply(t, kinds),
    levels = lapply(t[vapply(t, is.factor, TRUE)], function(x) as.list(levels(x))),
    columns = lapply(t, function(x) if (is.factor(x)) as.integer(x) - 1L else as.numeric(x))
  )
})
cat(toJSON(list(r = R.version.string, tables = data, fits = fits),
  digits = NA, auto_unbox = TRUE, null = "null", na = "null"
), "\n")
